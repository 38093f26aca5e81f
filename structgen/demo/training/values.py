"""Draws names, products, numbers and dates of one split of the demo corpus.

Every open value (a word, a name, a number from 13 on, a date, a code) belongs to exactly one split,
decided by a hash of its text. A model that is right on the evaluation split has copied the value,
it cannot have learnt it. Closed values (enum members, small integers, month names) are shared, as
the model has to know those.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Split = Literal["train", "eval"]

HELD_OUT_SHARE = 6
SHARED_BELOW = 13

FIRST_NAMES = (
    "Maria Anna Paul Emma Lukas Noah Mia Leon Clara Felix Hannah Jonas Laura Simon Elena David "
    "Sofia Oscar Nina Victor Julia Martin Eva Daniel Carla Peter Rosa Thomas Ines Samuel Olga "
    "Pablo Greta Hugo Amina Yusuf Leila Omar Fatima Karim Aisha Tariq Mei Wei Ling Chen Yuki Hiro "
    "Sakura Kenji Priya Arjun Ravi Anika Dev Asha Ivan Natasha Boris Irina Sven Astrid Bjorn "
    "Ingrid Lars Freya Erik Sigrid Marco Giulia Luca Chiara Paolo Bianca Pierre Camille Louis "
    "Amelie Jack Olivia Harry Grace Liam Chloe Ethan Zoe Owen Ruby Adam Alice Ben Diana Edgar "
    "Flora George Helen Ian Jane Kevin Linda Mark Nora Otto Petra Quentin Rita Stefan Tina Ulrich "
    "Vera Walter Xenia Yvonne Zachary Tomas Jana Milan Zuzana"
).split()
LAST_NAMES = (
    "Keller Brown Smith Weber Fischer Novak Rossi Garcia Lopez Martinez Silva Santos Costa Meyer "
    "Schulz Wagner Becker Hoffmann Koch Richter Klein Wolf Schroeder Neumann Schwarz Zimmermann "
    "Braun Hartmann Lange Krause Lehmann Walker Young Allen King Wright Scott Green Baker Adams "
    "Nelson Hill Campbell Mitchell Roberts Carter Phillips Evans Turner Parker Collins Edwards "
    "Stewart Morris Murphy Cook Rogers Morgan Peterson Cooper Reed Bailey Bell Gomez Kelly Howard "
    "Ward Cox Diaz Richardson Wood Watson Brooks Bennett Gray James Reyes Cruz Hughes Price Myers "
    "Long Foster Sanders Ross Morales Powell Sullivan Russell Ortiz Jenkins Gutierrez Perry "
    "Butler Barnes Fisher Tanaka Suzuki Sato Yamada Kim Park Nguyen Tran Singh Patel Sharma Gupta "
    "Khan Ahmed Hassan Ivanova Petrov Larsen Hansen Nielsen Berg Dahl"
).split()
CITIES = (
    "Berlin Hamburg Munich Bonn Cologne Dresden Leipzig Bremen Paris Lyon Nice Lille Madrid "
    "Seville Valencia Lisbon Porto Rome Milan Turin Naples Vienna Graz Linz Zurich Bern Basel "
    "Geneva London Leeds Bristol York Oxford Dublin Cork Galway Oslo Bergen Stockholm Malmo "
    "Helsinki Turku Copenhagen Aarhus Warsaw Krakow Prague Brno Budapest Athens Istanbul Ankara "
    "Cairo Tunis Nairobi Lagos Accra Dakar Boston Chicago Denver Dallas Austin Seattle Portland "
    "Phoenix Toronto Montreal Ottawa Lima Quito Bogota Santiago Tokyo Osaka Kyoto Seoul Busan "
    "Delhi Mumbai Sydney Perth Auckland"
).split()
NOUNS = (
    "lamp chair table desk sofa shelf mirror carpet clock vase candle pillow blanket towel mug "
    "plate bowl spoon fork knife kettle toaster blender pan pot bottle jar basket box bag wallet "
    "belt scarf hat glove sock shirt jacket coat dress boot sandal ring watch necklace pen pencil "
    "notebook folder stapler printer monitor keyboard mouse cable charger camera tripod lens "
    "speaker headphone radio guitar drum violin flute ball racket bicycle helmet tent backpack "
    "rope ladder hammer drill saw wrench bucket brush roller hose shovel rake seed planter bench "
    "stool cabinet drawer curtain poster frame puzzle kite doll robot tablet phone laptop router "
    "battery bulb fan heater scale thermometer umbrella"
).split()
ADJECTIVES = (
    "red blue green black white yellow grey brown small large wooden steel glass cotton leather "
    "oak round square light heavy"
).split()
TOPICS = (
    "garden night summer winter river city data jazz design robot history climate science food "
    "film book music garden school market harbor forest mountain ocean light paper glass stone "
    "wool copper cloud river bridge island"
).split()
JOBS = (
    "teacher nurse engineer baker painter lawyer doctor pilot farmer plumber editor chemist cook "
    "driver librarian tailor gardener welder surgeon actor dentist florist potter jeweller "
    "translator carpenter electrician photographer"
).split()
TAGS = (
    "login search network print export import mobile backup billing layout upload download cache "
    "session parser email filter report sync widget menu button chart font index query driver "
    "kernel memory audio video"
).split()
STREET_ENDS = ("Street", "Road", "Lane", "Avenue", "Way", "Square", "Hill", "Alley")
MONTHS = (
    "January February March April May June July August September October November December"
).split()
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_ONSETS = (
    "b br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sch sh sk sl sm sn sp "
    "st str t th tr v w z  "
).split(" ")
_VOWELS = "a e i o u a e i o u ai au ea ee ei ie oa oo ou y".split()
_CODAS = "b ck d f g k l ld lk ll m n nd ng nk nt p r rd rk rn rt s ss st t th x z".split()
_CODAS.extend([""] * 20)
_ACCENTED = "ä ö ü é è ø å ó ñ ç ı ł".split()


def held_out(text: str) -> bool:
    """True when the value `text` belongs to the evaluation split: a sixth of all values.

    Letter case and the s of a plural make no difference.
    """
    digest = hashlib.blake2b(text.lower().rstrip("s").encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % HELD_OUT_SHARE == 0


def in_split(text: str, split: Split) -> bool:
    """True when the value `text` may occur in the examples of `split`."""
    return held_out(text) == (split == "eval")


def made_up(rng: random.Random) -> str:
    """A pronounceable lower-case word of one to three syllables, 3 to 12 letters."""
    while True:
        word = "".join(
            rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
            for _ in range(rng.choice((1, 2, 2, 2, 3)))
        )
        if rng.random() < 0.04:
            at = rng.randrange(len(word))
            word = word[:at] + rng.choice(_ACCENTED) + word[at + 1 :]
        if 3 <= len(word) <= 12:
            return word


@dataclass
class Values:
    """Draws open values of one split; the same generator state gives the same values."""

    rng: random.Random
    split: Split

    def _of_split(self, make: Callable[[], str]) -> str:
        while True:
            text = make()
            if in_split(text, self.split):
                return text

    def word(self) -> str:
        """A made-up lower-case word."""
        return self._of_split(lambda: made_up(self.rng))

    def listed(self, words: list[str], made_up_share: float = 0.5) -> str:
        """A word of the list, or, for the given share, a made-up one."""
        if self.rng.random() < made_up_share:
            return self.word()
        return self._of_split(lambda: self.rng.choice(words))

    def first(self) -> str:
        """A first name."""
        return _capital(self.listed(FIRST_NAMES))

    def last(self) -> str:
        """A family name, sometimes a double one."""
        name = _capital(self.listed(LAST_NAMES))
        return f"{name}-{_capital(self.listed(LAST_NAMES))}" if self.rng.random() < 0.04 else name

    def person(self) -> str:
        """First name, sometimes a middle initial, family name."""
        middle = f" {self.rng.choice('ABCDEFGHJKLMPRST')}." if self.rng.random() < 0.05 else ""
        return f"{self.first()}{middle} {self.last()}"

    def city(self) -> str:
        """A city of one word, rarely two."""
        prefix = (
            self.rng.choice(("New ", "San ", "Bad ", "Port ")) if self.rng.random() < 0.08 else ""
        )
        return prefix + _capital(self.listed(CITIES))

    def street(self) -> str:
        """A street name without the house number."""
        return f"{_capital(self.listed(LAST_NAMES, 0.7))} {self.rng.choice(STREET_ENDS)}"

    def product(self, plural: bool = False) -> str:
        """A product such as `blue lamp`; written exactly so in the text."""
        noun = self.listed(NOUNS, 0.35) + ("s" if plural else "")
        return f"{self.rng.choice(ADJECTIVES)} {noun}" if self.rng.random() < 0.6 else noun

    def brand(self) -> str:
        """A company or brand name."""
        tail = self.rng.choice(("", "", " Ltd", " GmbH", " Labs", " Systems"))
        return _capital(self.word()) + tail

    def title(self) -> str:
        """A title of two or three words, the first with a capital."""
        words = [self.listed(TOPICS, 0.5) for _ in range(self.rng.choice((2, 2, 3)))]
        return " ".join([_capital(words[0]), *words[1:]])

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]; those below 13 are shared between the splits."""
        while True:
            number = self.rng.randint(low, high)
            if number < SHARED_BELOW or in_split(str(number), self.split):
                return number

    def decimal(self, low: int, high: int) -> float | int:
        """An amount with two decimals (the last one not 0), or one decimal, or a whole number."""
        form = self.rng.random()
        whole = self.rng.randint(low, high)
        if form < 0.25:
            return self.integer(max(low, SHARED_BELOW), max(high, SHARED_BELOW + 20))
        while True:
            cents = self.rng.randint(1, 9) if form < 0.4 else self.rng.randint(11, 99)
            if cents > 10 and cents % 10 == 0:
                continue
            if in_split(f"{whole}.{cents}", self.split):
                return float(f"{whole}.{cents}")
            whole = self.rng.randint(low, high)

    def date(self) -> str:
        """A date of the years 1950 to 2035 as YYYY-MM-DD."""

        def make() -> str:
            year = (
                self.rng.randint(2015, 2029)
                if self.rng.random() < 0.8
                else self.rng.randint(1950, 2035)
            )
            return f"{year}-{self.rng.randint(1, 12):02d}-{self.rng.randint(1, 28):02d}"

        return self._of_split(make)

    def time(self) -> str:
        """A time of day as HH:MM."""
        return self._of_split(
            lambda: f"{self.rng.randint(0, 23):02d}:{self.rng.choice(range(0, 60, 5)):02d}"
        )

    def code(self) -> str:
        """An identifier such as `KX-4821` or `R5520`."""

        def make() -> str:
            letters = "".join(
                self.rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ")
                for _ in range(self.rng.choice((1, 2, 3)))
            )
            digits = "".join(
                self.rng.choice("0123456789") for _ in range(self.rng.choice((3, 4, 5)))
            )
            return letters + self.rng.choice(("-", "", "-")) + digits

        return self._of_split(make)

    def postcode(self) -> str:
        """Five digits."""
        return self._of_split(lambda: f"{self.rng.randint(0, 99999):05d}")

    def phone(self) -> str:
        """A telephone number with a country code."""

        def make() -> str:
            parts = ((1, 99), (100, 999), (1000, 99999))
            return "+" + " ".join(str(self.rng.randint(low, high)) for low, high in parts)

        return self._of_split(make)

    def email(self) -> str:
        """An e-mail address of made-up words."""
        domain = self.rng.choice(("org", "com", "net", "example", "io", "de"))
        return f"{self.word()}{self.rng.choice(('.', '_', ''))}{self.word()}@{self.word()}.{domain}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def long_date(iso: str, form: int) -> str:
    """A date YYYY-MM-DD in words: form 0 is `14 March 2025`, form 1 is `March 14, 2025`."""
    year, month, day = iso.split("-")
    name = MONTHS[int(month) - 1]
    return f"{int(day)} {name} {year}" if form == 0 else f"{name} {int(day)}, {year}"
