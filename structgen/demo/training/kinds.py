"""`KINDS`: the kinds of records of the demo corpus, with their fields and wording."""

from __future__ import annotations

from structgen.demo.training.types import (
    ADDRESS,
    BRAND,
    CITY,
    CODE,
    CONTACT,
    COUNT,
    DATE,
    EMAIL,
    ITEM,
    PERSON,
    PHONE,
    PLACE,
    PRICED_ITEM,
    TITLE,
    Field,
    Kind,
    Many,
    enum,
    flag,
    integer,
    number,
    text,
)
from structgen.demo.training.values import JOBS, TAGS

ORDER = Kind(
    "order",
    (
        Field(
            ("customer", "customer_name", "buyer", "client"),
            PERSON,
            ("The customer is {}.", "Ordered by {}.", "The buyer's name is {}."),
        ),
        Field(
            ("items", "products", "lines"),
            Many(ITEM, 1, 3),
            ("The order contains {}.", "Items: {}.", "We need {}."),
        ),
        Field(
            ("date", "order_date", "ordered_on"),
            DATE,
            ("The order was placed on {}.", "Date of the order: {}."),
        ),
        Field(
            ("shipping", "delivery", "shipping_method"),
            enum("standard", "express", "pickup"),
            ("Shipping: {}.", "Please use {} shipping.", "Delivery is {}."),
        ),
        Field(
            ("order_id", "id", "order_number"),
            CODE,
            ("The order number is {}.", "Order id: {}.", "Reference {}."),
        ),
        Field(
            ("email", "contact_email", "customer_email"),
            EMAIL,
            ("Send the invoice to {}.", "The e-mail is {}.", "Contact: {}."),
        ),
        Field(
            ("total", "total_price", "sum"),
            number(5, 2000),
            ("The total is {}.", "In total {} were paid.", "Total price: {}."),
        ),
        Field(
            ("address", "ship_to", "delivery_address"),
            ADDRESS,
            ("Deliver to {}.", "Ship it to {}.", "The delivery address is {}."),
        ),
        Field(("gift", "is_gift"), flag("It is a gift.", "It is not a gift.")),
    ),
    (
        "{customer} ordered {items} on {date}.",
        "On {date}, {customer} bought {items}.",
        "{customer} ordered {items}.",
        "Order {order_id}: {items} for {customer}, placed on {date}.",
        "{customer} would like {items}.",
        "{customer} ({email}) ordered {items} for a total of {total}.",
        "Order {order_id} was placed by {customer} on {date}.",
        "On {date} an order of {items} came in from {customer}.",
    ),
    ("customer", "items", "date", "shipping"),
    ("shipping",),
)
INVOICE = Kind(
    "invoice",
    (
        Field(
            ("invoice_number", "number", "id", "invoice_id"),
            CODE,
            ("Invoice number {}.", "The invoice has the number {}."),
        ),
        Field(("seller", "supplier", "vendor"), BRAND, ("Issued by {}.", "The seller is {}.")),
        Field(("customer", "buyer", "client"), PERSON, ("Billed to {}.", "The customer is {}.")),
        Field(
            ("positions", "lines", "items"),
            Many(PRICED_ITEM, 1, 2),
            ("It lists {}.", "Positions: {}."),
        ),
        Field(("total", "amount", "sum"), number(5, 3000), ("The amount due is {}.", "Total: {}.")),
        Field(
            ("currency",),
            enum("EUR", "USD", "GBP", "CHF"),
            ("All prices are in {}.", "Currency: {}."),
        ),
        Field(
            ("due_date", "due", "payable_until"), DATE, ("Please pay until {}.", "It is due on {}.")
        ),
        Field(("paid", "is_paid"), flag("It has been paid.", "It has not been paid yet.")),
    ),
    (
        "Invoice {invoice_number} from {seller} to {customer} over {total} {currency}.",
        "{seller} billed {customer} for {positions}.",
        "{customer} owes {seller} {total} {currency}, due on {due_date}.",
        "Invoice {invoice_number}: {positions}.",
    ),
    ("invoice_number", "customer", "total", "currency", "due_date"),
    ("due_date",),
)
PERSON_KIND = Kind(
    "person",
    (
        Field(
            ("name", "full_name", "person"),
            PERSON,
            ("The name is {}.", "This is about {}.", "My name is {}."),
        ),
        Field(
            ("age", "years"),
            integer(1, 99, 0),
            ("The age is {}.", "Aged {}.", "I am {} years old."),
        ),
        Field(
            ("city", "home_city", "lives_in", "residence"),
            CITY,
            ("Lives in {}.", "The home city is {}.", "Now at home in {}."),
        ),
        Field(
            ("job", "occupation", "profession"),
            text(lambda v: v.rng.choice(("", "junior ", "senior ")) + v.listed(JOBS)),
            ("Works as a {}.", "The occupation is {}.", "By profession a {}."),
        ),
        Field(("employer", "company"), BRAND, ("Employed by {}.", "The employer is {}.")),
        Field(
            ("birth_date", "born", "date_of_birth"),
            DATE,
            ("Born on {}.", "The date of birth is {}."),
        ),
        Field(("email", "mail"), EMAIL, ("The e-mail address is {}.", "Write to {}.")),
        Field(("phone", "telephone"), PHONE, ("The phone number is {}.", "Call {}.")),
        Field(
            ("languages", "speaks"),
            Many(
                enum(
                    "English",
                    "German",
                    "French",
                    "Spanish",
                    "Italian",
                    "Polish",
                    "Turkish",
                    "Arabic",
                    "Japanese",
                ),
                1,
                3,
            ),
            ("Speaks {}.", "Languages: {}."),
        ),
        Field(("address", "home_address"), ADDRESS, ("The address is {}.", "Lives at {}.")),
        Field(("married", "is_married"), flag("Is married.", "Is not married.")),
    ),
    (
        "{name} is {age} years old and lives in {city}.",
        "{name}, {age}, works as a {job} in {city}.",
        "{name} was born on {birth_date}.",
        "{name} from {city} works for {employer} as a {job}.",
        "{name} ({age}) speaks {languages}.",
        "Meet {name}, a {job} from {city}.",
        "{name} lives at {address}.",
        "At the age of {age}, {name} moved to {city}.",
    ),
    ("name", "age", "city", "job"),
    ("job",),
)
EVENT = Kind(
    "event",
    (
        Field(("title", "name", "event"), TITLE, ("The title is {}.", "It is called {}.")),
        Field(
            ("date", "day", "event_date"),
            DATE,
            ("It takes place on {}.", "The date is {}.", "Save the date: {}."),
        ),
        Field(
            ("location", "place", "where"),
            PLACE,
            ("The location is {}.", "We meet at {}.", "Where: {}."),
        ),
        Field(
            ("attendees", "guests", "participants"),
            Many(text(lambda v: v.first()), 1, 4),
            ("The guests are {}.", "Attendees: {}.", "Invited are {}."),
        ),
        Field(
            ("start", "start_time", "begins_at"),
            text(lambda v: v.time()),
            ("It starts at {}.", "Doors open at {}.", "Begin: {}."),
        ),
        Field(
            ("type", "category", "kind"),
            enum("concert", "workshop", "meeting", "lecture", "party", "exhibition"),
            ("It is a {}.", "Type of event: {}."),
        ),
        Field(
            ("organizer", "host", "organised_by"),
            PERSON,
            ("It is organised by {}.", "The host is {}."),
        ),
        Field(
            ("capacity", "seats", "max_guests"),
            integer(5, 3000, 1),
            ("There are {} seats.", "The capacity is {}."),
        ),
        Field(("free", "free_entry"), flag("Entry is free.", "Entry is not free.")),
    ),
    (
        'The {type} "{title}" takes place on {date} at {location}.',
        '"{title}" will be held at {location} on {date}.',
        '{organizer} invites you to "{title}" on {date}.',
        "Join us for {title} on {date} at {start}.",
        '{attendees} will come to "{title}" at {location}.',
        "On {date} the {type} {title} starts at {start}.",
    ),
    ("title", "date", "location", "attendees"),
    ("attendees",),
)


def _title(product: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in product.split(" "))


TICKET = Kind(
    "ticket",
    (
        Field(
            ("id", "ticket_id", "key", "number"),
            CODE,
            ("The ticket id is {}.", "Ticket number {}."),
        ),
        Field(
            ("summary", "title", "subject"),
            text(
                lambda v: (
                    v.title()
                    + v.rng.choice(
                        (" does not load", " is slow", " crashes", " is missing", " fails", "")
                    )
                )
            ),
            ('The summary is "{}".', 'Subject: "{}".'),
        ),
        Field(
            ("priority", "severity", "urgency"),
            enum("low", "medium", "high", "critical"),
            ("The priority is {}.", "Priority: {}.", "This is of {} priority."),
        ),
        Field(
            ("status", "state"),
            enum("open", "closed", "pending", "resolved"),
            ("The status is {}.", "Status: {}.", "It is {} now."),
        ),
        Field(
            ("reporter", "reported_by", "author"),
            PERSON,
            ("Reported by {}.", "The reporter is {}."),
        ),
        Field(
            ("assignee", "assigned_to", "owner"),
            PERSON,
            ("It is assigned to {}.", "{} takes care of it.", "The assignee is {}."),
        ),
        Field(
            ("tags", "labels", "keywords"),
            Many(text(lambda v: v.listed(TAGS)), 1, 4),
            ("Tags: {}.", "It is tagged {}.", "Labels are {}."),
        ),
        Field(
            ("component", "module"),
            text(lambda v: v.listed(TAGS)),
            ("It concerns the component {}.", "Component: {}."),
        ),
        Field(
            ("created", "created_on", "opened"), DATE, ("It was created on {}.", "Opened on {}.")
        ),
        Field(("votes", "upvotes"), integer(0, 500, 0), ("It has {} votes.", "Votes: {}.")),
        Field(("blocked", "is_blocked"), flag("It is blocked.", "It is not blocked.")),
    ),
    (
        'Ticket {id}: "{summary}", priority {priority}, status {status}, reported by {reporter}.',
        '{reporter} reported "{summary}" ({id}) with {priority} priority.',
        'Ticket {id} ("{summary}") is {status} and of {priority} priority.',
        "{id} was opened on {created} by {reporter}.",
        '{assignee} works on {id}, "{summary}".',
        '"{summary}", writes {reporter}.',
    ),
    ("id", "summary", "priority", "status", "reporter", "tags"),
    ("tags",),
)
PRODUCT = Kind(
    "product",
    (
        Field(
            ("name", "product", "product_name"),
            text(lambda v: _title(v.product())),
            ("The product is called {}.", "Name: {}."),
        ),
        Field(
            ("price", "cost", "unit_price"), number(1, 2000), ("The price is {}.", "It costs {}.")
        ),
        Field(
            ("currency",),
            enum("EUR", "USD", "GBP", "CHF"),
            ("The price is given in {}.", "Currency: {}."),
        ),
        Field(
            ("color", "colour"),
            enum("red", "blue", "green", "black", "white", "yellow", "orange", "purple"),
            ("It comes in {}.", "The color is {}."),
        ),
        Field(("sku", "article_number", "code"), CODE, ("The article number is {}.", "SKU: {}.")),
        Field(("brand", "maker", "manufacturer"), BRAND, ("It is made by {}.", "The brand is {}.")),
        Field(
            ("stock", "in_stock", "quantity"),
            integer(0, 900, 0),
            ("There are {} in stock.", "Stock: {}."),
        ),
        Field(("weight", "weight_kg"), number(1, 60), ("It weighs {} kg.", "Weight: {} kg.")),
        Field(
            ("sizes", "available_sizes"),
            Many(enum("XS", "S", "M", "L", "XL"), 1, 3),
            ("Sizes: {}.", "It is available in {}."),
        ),
        Field(
            ("features", "highlights"),
            Many(text(lambda v: f"{v.word()} {v.word()}"), 1, 3),
            ("Features: {}.", "It has {}."),
        ),
        Field(("available", "on_sale"), flag("It is available.", "It is not available.")),
    ),
    (
        "The {name} costs {price} {currency}.",
        "{name} by {brand} costs {price} {currency}.",
        "New: {name} in {color} for {price} {currency}.",
        "{brand} sells the {name} ({sku}) at {price} {currency}.",
        "We have {stock} pieces of {name} ({sku}).",
    ),
    ("name", "price", "currency", "color"),
    ("color",),
)
ADDRESS_KIND = Kind(
    "address",
    (
        Field(
            ("name", "recipient", "addressee"), PERSON, ("The recipient is {}.", "It is for {}.")
        ),
        Field(("street",), text(lambda v: v.street()), ("The street is {}.",)),
        Field(("house_number", "number"), integer(1, 250, 1), ("House number {}.",)),
        Field(
            ("zip", "postcode", "postal_code"),
            text(lambda v: v.postcode()),
            ("The postcode is {}.",),
        ),
        Field(("city", "town"), CITY, ("The city is {}.", "The town is {}.")),
        Field(
            ("country",),
            enum("Germany", "France", "Spain", "Italy", "Austria", "Poland", "Norway"),
            ("The country is {}.", "That is in {}."),
        ),
        Field(("floor",), COUNT, ("Floor {}.", "It is on floor {}.")),
        Field(("company",), BRAND, ("The company is {}.", "Care of {}.")),
    ),
    (
        "{name}, {house_number} {street}, {zip} {city}, {country}.",
        "{name} lives at {street} {house_number} in {zip} {city}, {country}.",
        "Send it to {name}, {street} {house_number}, {city} {zip}, {country}.",
        "{name} moved to {house_number} {street} in {city}, {country}, postcode {zip}.",
    ),
    ("name", "street", "house_number", "zip", "city", "country"),
    ("country",),
)
BOOKING = Kind(
    "booking",
    (
        Field(
            ("passenger", "traveller", "guest"), PERSON, ("The passenger is {}.", "Booked for {}.")
        ),
        Field(
            ("origin", "from", "departure_city"),
            CITY,
            ("It leaves from {}.", "The trip starts in {}."),
        ),
        Field(
            ("destination", "to", "arrival_city"),
            CITY,
            ("It goes to {}.", "The destination is {}."),
        ),
        Field(
            ("date", "travel_date", "departure"),
            DATE,
            ("The travel date is {}.", "Departure is on {}."),
        ),
        Field(
            ("class", "cabin", "travel_class"),
            enum("economy", "business", "first"),
            ("The class is {}.", "Travels in {} class."),
        ),
        Field(
            ("code", "booking_code", "reference"),
            CODE,
            ("The booking code is {}.", "Reference: {}."),
        ),
        Field(
            ("seat", "seat_number"),
            text(lambda v: f"{v.rng.randint(1, 60)}{v.rng.choice('ABCDEF')}"),
            ("The seat is {}.", "Seat {}."),
        ),
        Field(("price", "fare"), number(20, 2000), ("The fare is {}.", "The price was {}.")),
        Field(
            ("contact", "contact_person"),
            CONTACT,
            ("The contact is {}.", "In case of questions: {}."),
        ),
        Field(("baggage", "has_baggage"), flag("Baggage is included.", "Baggage is not included.")),
    ),
    (
        "{passenger} flies from {origin} to {destination} on {date}.",
        "{passenger} booked a trip from {origin} to {destination} in {class} class.",
        "On {date}, {passenger} travels to {destination}.",
        "Booking {code}: {origin} to {destination}, {date}, {passenger}.",
    ),
    ("passenger", "origin", "destination", "date", "class"),
    ("class",),
)

KINDS = (ORDER, INVOICE, PERSON_KIND, EVENT, TICKET, PRODUCT, ADDRESS_KIND, BOOKING)
