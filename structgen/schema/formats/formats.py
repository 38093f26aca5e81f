"""The `format` keyword: for each format of the specifications the exact language of its strings.

Every format follows the document that JSON Schema names for it; each builder cites the section.
Languages are built once, at first use. Formats that need an automaton of their own have a module:
`formats.hostnames`, `formats.idn_emails`, `formats.idn_hostnames`, `formats.leap_seconds` and
`formats.regex`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from structgen.regular.charset import MAX_CODE_POINT
from structgen.regular.lazy_dfa.automaton import prepare
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    concat,
    intersect,
    literal,
    repeat,
)
from structgen.regular.syntax.pattern import parse
from structgen.regular.utf8 import LAST_ASCII, LEADS
from structgen.schema.formats.leap_seconds import leap_seconds

SPEC_FORMATS = frozenset(
    "date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference"
    " iri iri-reference uuid uri-template json-pointer relative-json-pointer regex".split()
)

_NEAR = 256  # states of a format that are prepared beyond those of its examples
_EXAMPLES_ONLY = frozenset(("hostname", "idn-hostname"))  # further states are costly
_RARE = frozenset(("idn-email", "idn-hostname"))  # not worth their time and space in most
_EXAMPLES = {  # formats that schemas often have, with texts whose states are prepared
    "date-time": ("2024-02-29T10:30:59.999Z",),
    "date": (),
    "time": ("10:30:59.999Z",),
    "duration": (),
    "email": ("first.last@mail.example.org",),
    "idn-email": ("jörg.müller@bücher.example", "실례실례실례@실례실례실례.테스트"),
    "hostname": ("a" * 62, "a" + "-" * 61, "xn--mnchen-3ya.de"),
    "idn-hostname": (
        "beispiel-straße.example",
        "exämple",
        "почтаящик",
        "παράδειγμα",
        "例え・ドメイン",
        "한국어",
        "ไทยนี้",
        "مثالموقع",
        "דוגמה",
        "उदाहरण",
        "xn--mnchen-3ya.de",
        "ABCDE",
        "lllll",
        "de-é-a",
        "بب۱",
        "שש-",
        "۱۲",
        "・あ",
        "a・あ",
        "aé۱",
        "क्",
        "aक्",
        "aกุ้",
        "กุ้",
        "a\u0e38\u0e49",
        "aé\u064b\u064e\u064f\u0650\u0651\u0652",
        "a" * 16 + "-" * 46,
        "п" * 22,
        "a" + "п" * 17,
        "aü" + "ü" * 12,
        "a" + "例" * 9,
    ),
    "ipv4": (),
    "ipv6": ("2001:db8::ff00:42:8329",),
    "uri": ("https://www.example.org/a/b.html?c=d#e",),
    "uri-reference": ("/a/b.html?c=d#e",),
    "iri": ("https://www.example.org/a/b.html?c=d#e",),
    "iri-reference": ("/a/b.html?c=d#e",),
    "uri-template": ("/{a}/b",),
    "json-pointer": (),
    "uuid": (),
    "regex": (
        r"^(?:\.|[^a-z\W]+)?$",
        r"^(([a-z]+|\d{1,3})*(b))(c)$",
        r"^[a-z]\d+\.?\w{2,}x*?|[^x]y$",
        r"(a){[b]*?(?:\.)|((a)*{(((",
        r"(a(?<",
        r"(a[b](a){[b",
    ),
}


def _whole(pattern: str, **parts: str) -> Regex:
    """A pattern that matches whole texts; `<name>` in it stands for the part of that name."""
    return parse(_fill(pattern, **parts), anchored=True)


def _fill(pattern: str, **parts: str) -> str:
    for name, part in parts.items():
        pattern = pattern.replace(f"<{name}>", f"(?:{part})")
    return pattern


# -- dates and times: RFC 3339 ------------------------------------------------------------------

_MONTH_DAY = (
    r"(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8])"
)
_LEAP_YEAR = r"\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00"
_FRACTION = r"(?:\.\d+)?"
_OFFSET = r"[zZ]|[+-](?:[01]\d|2[0-3]):[0-5]\d"


def _date() -> Regex:
    """RFC 3339 section 5.6, `full-date`, with the days of the month of appendix C."""
    return _whole(r"\d{4}-<day>|<leap>-02-29", day=_MONTH_DAY, leap=_LEAP_YEAR)


def _time() -> Regex:
    """RFC 3339 section 5.6, `full-time`; a leap second (appendix D) only at 23:59:60 UTC."""
    usual = _whole(
        r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d<fraction><offset>", fraction=_FRACTION, offset=_OFFSET
    )
    in_utc = _whole("23:59:60<fraction>[zZ]", fraction=_FRACTION)
    return alt(usual, in_utc, leap_seconds())


def _date_time() -> Regex:
    """RFC 3339 section 5.6, `date-time`."""
    return concat(format_built("date"), _whole("[tT]"), format_built("time"))


def _duration() -> Regex:
    """RFC 3339 appendix A, `duration`."""
    seconds = r"\d+S"
    minutes = rf"\d+M(?:{seconds})?"
    hours = rf"\d+H(?:{minutes})?"
    months = r"\d+M(?:\d+D)?"
    years = rf"\d+Y(?:{months})?"
    time = f"T(?:{hours}|{minutes}|{seconds})"
    return _whole("P(?:<date><time>?|<time>|\\d+W)", date=rf"\d+D|{months}|{years}", time=time)


# -- mail: RFC 5321 -----------------------------------------------------------------------------

_ATOM = r"[0-9A-Za-z!#$%&'*+\-/=?^_`{|}~<wide>]+"
_QUOTED = r'"(?:[ !#-\[\]-~<wide>]|\\[ -~])*"'
_DOMAIN_LABEL = "[0-9A-Za-z<first>](?:[0-9A-Za-z<wide>-]<times>[0-9A-Za-z<wide>])?"
_IDN_LETTERS = r"\p{Ll}\p{Lo}\p{Lm}\p{Nd}"
_IDN_MARKS = r"\p{Mn}\p{Mc}"


def _mailbox(*, most: int = LAST_ASCII, times: str = "{0,61}") -> tuple[Regex, Regex, Regex]:
    """RFC 5321 section 4.1.2: `Local-part`, `Domain` and `address-literal`, of any length.

    most: the last code point. With more than ASCII: RFC 6531 section 3.3, where the letters of a
    domain are those that RFC 5892 permits by their category, and no mark begins a label; its other
    rules for whole labels are not checked. times: how often a character comes between the first and
    the last of a label.
    """
    wide = rf"\u{{80}}-\u{{{most:X}}}" if most > LAST_ASCII else ""
    first, marks = (_IDN_LETTERS, _IDN_MARKS) if wide else ("", "")
    atom, quoted = _ATOM.replace("<wide>", wide), _QUOTED.replace("<wide>", wide)
    local = _whole(r"<atom>(?:\.<atom>)*|<quoted>", atom=atom, quoted=quoted)
    label = _DOMAIN_LABEL.replace("<first>", first).replace("<wide>", first + marks)
    label = label.replace("<times>", times)
    domain = _whole(r"<label>(?:\.<label>)*", label=label)
    six = concat(_whole("[iI][pP][vV]6:"), format_built("ipv6"))  # the only registered tag
    return local, domain, concat(literal("["), alt(format_built("ipv4"), six), literal("]"))


def _email() -> Regex:
    """RFC 5321 section 4.1.2, `Mailbox`, with the sizes of section 4.5.3.1."""
    local, domain, address = _mailbox()
    few, many = repeat(ANY_CHAR, 1, 64), repeat(ANY_CHAR, 1, 255)
    return concat(intersect(few, local), literal("@"), alt(intersect(many, domain), address))


def _idn_email() -> Regex:
    from structgen.schema.formats.idn_emails import idn_email

    (local, domain, _), (short, _, _) = _mailbox(), _mailbox(most=LEADS[0][2])
    return idn_email(_mailbox(most=MAX_CODE_POINT, times="*"), {1: local, 2: short}, domain)


# -- addresses ----------------------------------------------------------------------------------

_IPV4 = r"(?:<byte>\.){3}<byte>".replace("<byte>", r"(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])")
_H16 = "[0-9A-Fa-f]{1,4}"
_IPV6 = "|".join(
    [r"(?:<h>:){6}<last>", r"::(?:<h>:){5}<last>"]
    + [f"(?:(?:<h>:){{0,{n}}}<h>)?::(?:<h>:){{{4 - n}}}<last>" for n in range(5)]
    + [r"(?:(?:<h>:){0,5}<h>)?::<h>", r"(?:(?:<h>:){0,6}<h>)?::"]
)


def _ipv6_pattern() -> str:
    return _fill(_IPV6, last=f"{_H16}:{_H16}|{_IPV4}", h=_H16)


def _ipv4() -> Regex:
    """RFC 2673 section 3.2: four decimal bytes, as RFC 3986 spells them without leading zeros."""
    return _whole(_IPV4)


def _ipv6() -> Regex:
    """RFC 4291 section 2.2, in the grammar of RFC 3986 section 3.2.2."""
    return _whole(_ipv6_pattern())


def _hostname() -> Regex:
    from structgen.schema.formats.hostnames import hostname

    return hostname()


def _idn_hostname() -> Regex:
    from structgen.schema.formats.idn_hostnames import idn_hostname

    return idn_hostname()


def _regex() -> Regex:
    from structgen.schema.formats.regex import patterns

    return patterns()


# -- identifiers --------------------------------------------------------------------------------

_UCSCHAR = r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}" + "".join(
    rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" if plane < 14 else r"\u{E1000}-\u{EFFFD}"
    for plane in range(1, 15)
)
_PRIVATE = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def _identifier(*, international: bool, relative: bool, absolute: bool = True) -> Regex:
    """RFC 3986 appendix A (RFC 3987 section 2.2 when international)."""
    wide, private = (_UCSCHAR, _PRIVATE) if international else ("", "")
    plain = rf"[0-9A-Za-z\-._~{wide}!$&'()*+,;=]|%[0-9A-Fa-f]{{2}}"
    letters = _fill("<plain>|[:@]", plain=plain)
    authority = _fill(
        r"(?:(?:<plain>|:)*@)?(?:\[<v6>\]|\[[vV][0-9A-Fa-f]+\.[<ascii>:]+\]|<plain>*)(?::\d*)?",
        plain=plain,
        v6=_ipv6_pattern(),
    ).replace("<ascii>", r"0-9A-Za-z\-._~!$&'()*+,;=")
    rooted = _fill("//<authority>(?:/<p>*)*|/(?:<p>+(?:/<p>*)*)?", authority=authority, p=letters)
    query = _fill(rf"(?:\?(?:<p>|[/?{private}])*)?(?:#(?:<p>|[/?])*)?", p=letters)
    rootless = _fill("<p>+(?:/<p>*)*", p=letters)
    first_without_colon = _fill("(?:<plain>|@)+(?:/<p>*)*", plain=plain, p=letters)
    forms = []
    if absolute:
        forms.append(_fill(r"[A-Za-z][A-Za-z0-9+\-.]*:(?:<r>|<s>)?", r=rooted, s=rootless))
    if relative:
        forms.append(_fill("(?:<r>|<s>)?", r=rooted, s=first_without_colon))
    return _whole("(?:<form><query>)", form="|".join(forms), query=query)


def _uuid() -> Regex:
    """RFC 4122 section 3."""
    return _whole("<x>{8}(?:-<x>{4}){3}-<x>{12}", x="[0-9A-Fa-f]")


def _uri_template() -> Regex:
    """RFC 6570 section 2, with the apostrophe that erratum 6937 adds to literals."""
    percent = "%[0-9A-Fa-f]{2}"
    text = rf"[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_UCSCHAR}{_PRIVATE}]|{percent}"
    letter = f"[0-9A-Za-z_]|{percent}"
    variable = _fill(r"<c>(?:\.?<c>)*(?:\*|:[1-9]\d{0,3})?", c=letter)
    return _whole(r"(?:<text>|\{[+#./;?&=,!@|]?<v>(?:,<v>)*\})*", text=text, v=variable)


_POINTER = r"(?:\/(?:[^~\/]|~[01])*)*"

_BUILDERS: dict[str, Callable[[], Regex]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "duration": _duration,
    "email": _email,
    "idn-email": _idn_email,
    "hostname": _hostname,
    "idn-hostname": _idn_hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uri": lambda: _identifier(international=False, relative=False),
    "uri-reference": lambda: _identifier(international=False, relative=True),
    "iri": lambda: _identifier(international=True, relative=False),
    "iri-reference": lambda: _identifier(international=True, relative=True),
    "uuid": _uuid,
    "uri-template": _uri_template,
    "json-pointer": lambda: _whole(_POINTER),  # RFC 6901 section 3
    "regex": _regex,
    "relative-json-pointer": lambda: _whole(rf"(?:0|[1-9]\d*)(?:#|{_POINTER})"),
}


@cache
def format_built(name: str) -> Regex:
    """The language of a format in `_BUILDERS`."""
    return _BUILDERS[name]()


def format_language(name: str) -> Regex | None:
    """The language of the strings that have format `name`; None for a name without a language."""
    if name not in _BUILDERS:
        return None
    _prepare(name)
    return format_built(name)


@cache
def _prepare(name: str) -> None:
    """Explore states of a format that schemas often have, once, and not in the middle of a text."""
    if name in _EXAMPLES:
        near = 1 if name in _EXAMPLES_ONLY else _NEAR
        prepare(format_built(name), near, *_EXAMPLES[name])


def prepare_formats() -> None:
    """Prepare those that are not rare, ahead of the first schema that has one."""
    for name in _EXAMPLES.keys() - _RARE:
        _prepare(name)
