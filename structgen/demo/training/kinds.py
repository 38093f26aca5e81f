"""In: nothing; out: KINDS, the kinds of records of the demo corpus with their fields and wording.

This module has order, invoice, person and event, `corpus_kinds_more` the others.
"""

from __future__ import annotations

from structgen.demo.training.more_kinds import ADDRESS_KIND, BOOKING, PRODUCT, TICKET
from structgen.demo.training.types import (
    ADDRESS,
    BRAND,
    CITY,
    CODE,
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
from structgen.demo.training.values import JOBS

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

KINDS = (ORDER, INVOICE, PERSON_KIND, EVENT, TICKET, PRODUCT, ADDRESS_KIND, BOOKING)
