"""In: nothing; out: more kinds of records: ticket, product, address, booking."""

from __future__ import annotations

from structgen.demo.training.types import (
    BRAND,
    CITY,
    CODE,
    CONTACT,
    COUNT,
    DATE,
    PERSON,
    Field,
    Kind,
    Many,
    enum,
    flag,
    integer,
    number,
    text,
)
from structgen.demo.training.values import TAGS


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
