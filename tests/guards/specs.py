"""The specs whose masks are kept: schemas, grammars, patterns, tags, and what is made of them.

A spec is made only when it is asked for. Names say what it is: `hand/user`, `drawn/17`,
`shipped/sql`, `tags/thought`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import structgen as sg

FOLDER = Path(__file__).parent
DRAWN = FOLDER / "drawn.json"
BY_HAND = FOLDER / "by_hand.json"
SHIPPED = """arithmetic c chess csv graphql html javascript json lark python python_lines regex
    smiles sql""".split()
Maker = Callable[[], Any]

LISP = r"""
start: form+
form: "(" NAME item* ")" _WS?
item: _WS (form | NAME | NUMBER | STRING)
NAME: /[a-z][a-z0-9-]*[?!]?/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
_WS: /[ \n]+/
"""
PRIORITIES = r"""
start: (KEYWORD | NAME | NUMBER) ("," (KEYWORD | NAME | NUMBER))*
KEYWORD.2: "if" | "else" | "while"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""
CALL = r"""
start: NAME "(" %json {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}} ")"
NAME: /[a-z]+/
"""
TEMPLATE = r"""
_list{x, sep}: x (sep x)*
start: "[" [_list{value, ","}] "]"
value: "T" | "F" | start | /0|[1-9][0-9]*/
"""
ARITHMETIC = r"""
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"""
JAPANESE = r"""
root ::= jp-char+ ([ \t\n] jp-char+)*
jp-char ::= hiragana | katakana | cjk
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
cjk ::= [一-鿿]
"""
LISTS = r"""
root ::= item{1,3} end?
item ::= "- " [^\r\n]{1,9} "\n"
end ::= "." | "…" | ("!" "?"?){2}
"""
ISO = """
number = [ "-" ], digits, [ ".", digits ] ;
digits = digit, { digit } ;
digit = "0" | "1" | "2" | "3" ;
"""
MANUAL = """
list ::= "[" ( entry ( "," entry )* )? "]"
entry ::= ( "a" | "b" | "c" )+ | list
"""
PATTERNS = {
    "word": "[a-z]+",
    "counted": "(?:ab|cd){2,4}\\d{3}",
    "unicode": "[é-ü]{1,3}(?:中|文)*😀?",
    "email": "[\\w.+-]{1,16}@[a-z0-9-]+(?:\\.[a-z]{2,4})+",
    "looking": "(?=.*\\d)(?!.*xx)[a-z\\d]{3,8}",
    "boundary": "\\w+\\b \\b\\w+",
    "dot": ".*",
    "address": "(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)",
    "class": "[^\\p{L}\\s]{2,5}\\p{Lu}",
    "insensitive": "(?:[Yy][Ee][Ss]|[Nn][Oo])",
    "nothing": "",
    "impossible": "a\\bb",
    "broken": "(a",
    "backreference": "(a)\\1",
}
WEATHER = {
    "name": "get_weather",
    "description": "The weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city"],
    },
}
SEARCH = {
    "name": "search",
    "description": "Looks for it",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": 20},
            "kind": {"enum": ["web", "news"]},
        },
        "required": ["query", "kind"],
        "additionalProperties": False,
    },
}
TOOLS = [{"type": "function", "function": tool} for tool in (WEATHER, SEARCH)]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def schema_makers() -> Iterator[tuple[str, Maker]]:
    """The schemas by hand, a few of them with other options too, and the drawn ones."""
    by_hand = json.loads(BY_HAND.read_text(encoding="utf-8"))
    for number, (name, schema) in enumerate(by_hand.items()):
        yield f"hand/{name}", _json(schema, {})
        if number % 4 == 0:
            yield f"hand/{name}+any", _json(schema, {"property_order": "any", "whitespace": "any"})
        if number % 4 == 2:
            yield f"hand/{name}+compact", _json(schema, {"whitespace": "compact"})
    for name, (schema, options) in json.loads(DRAWN.read_text(encoding="utf-8")).items():
        yield f"drawn/{name}", _json(schema, options)


def _json(schema: Any, options: dict[str, Any]) -> Maker:
    return lambda: sg.JsonSchema(schema, **options)


def other_makers() -> Iterator[tuple[str, Maker]]:
    """Everything that is no schema by itself."""
    for name in SHIPPED:
        yield f"shipped/{name}", _bound(sg.shipped, name)
    for name, pattern in PATTERNS.items():
        yield f"regex/{name}", _bound(sg.Regex, pattern)
    for name, text in {"lisp": LISP, "priorities": PRIORITIES, "template": TEMPLATE}.items():
        for lexing in ("free", "longest", "viable"):
            yield f"lark/{name}-{lexing}", _bound(sg.Lark, text, lexing=lexing)
    yield "lark/call", lambda: sg.Lark(CALL)
    yield "lark/broken", lambda: sg.Lark("start: (")
    for name, text in {"arithmetic": ARITHMETIC, "japanese": JAPANESE, "lists": LISTS}.items():
        yield f"gbnf/{name}", _bound(sg.Gbnf, text)
    yield "gbnf/broken", lambda: sg.Gbnf("root ::= missing")
    yield "ebnf/iso", lambda: sg.Ebnf(ISO)
    yield "ebnf/manual", lambda: sg.Ebnf(MANUAL)
    yield "choice/words", lambda: sg.Choice(["yes", "yesterday", "no", "né", "😀"])
    yield "choice/none", lambda: sg.Choice([])
    yield from _calls().items()
    yield from _tags().items()
    yield from _joined().items()


def _bound(make: Callable[..., Any], *values: Any, **options: Any) -> Maker:
    return lambda: make(*values, **options)


def _calls() -> dict[str, Maker]:
    """Python calls that make grammars."""
    number = sg.regex("[0-9]+")

    def nested() -> Any:
        return sg.rule(
            "value", lambda value: sg.alt(number, sg.seq("(", sg.separated(value, ","), ")"))
        )

    person = sg.json_schema(PERSON)
    return {
        "calls/nested": nested,
        "calls/pieces": lambda: sg.seq(sg.some("ab"), sg.optional("c"), sg.many(number), ";"),
        "calls/schema": lambda: sg.seq("answer: ", person, sg.optional(sg.literal("."))),
        "calls/ref": lambda: sg.seq("<", sg.ref(sg.Regex("[a-z]{1,3}")), ">"),
    }


def _tags() -> dict[str, Maker]:
    """Free text, tags in it, and calls of tools."""
    thought = sg.Tag("<think>", None, "</think>")
    person = sg.JsonSchema(PERSON)
    marked = sg.Tag("<person>", person, "</person>")
    number = sg.Tag("<n>", sg.Regex("[0-9]{1,3}"), "</n>")
    tags: dict[str, Maker] = {
        "tags/free": sg.FreeText,
        "tags/free-excludes": lambda: sg.FreeText(("bad", "<")),
        "tags/thought": lambda: sg.sequence(thought, person),
        "tags/around": lambda: sg.Tags((marked, number)),
        "tags/before": lambda: sg.Tags((marked, number), text="before", at_least=1, at_most=2),
        "tags/none": lambda: sg.Tags((number,), text="none", at_least=2, separator=", "),
        "tags/trigger": lambda: sg.Tags((marked, number), triggers=("<",), excludes=("stop",)),
    }
    for name in ("hermes", "llama3_json", "llama3_python_tag"):
        tags[f"tools/{name}"] = _bound(sg.tools, TOOLS, name)
    tags["tools/one"] = lambda: sg.tools(TOOLS[:1], "hermes", text="none", at_least=1, at_most=1)
    tags["tools/unknown"] = lambda: sg.tools(TOOLS, "no such format")
    return tags


def _joined() -> dict[str, Maker]:
    """Specs made of specs."""
    words, filters = sg.Regex("[a-z]+( [a-z]+)*"), sg.filters
    person = sg.JsonSchema(PERSON)
    json_grammar = _bound(sg.shipped, "json")
    return {
        "all/filters": lambda: sg.all_of(words, filters.banned("the"), filters.length(at_most=12)),
        "all/required": lambda: sg.all_of(
            filters.required("ab", "b c"), filters.starts_with("a", "x"), filters.case("lower")
        ),
        "all/schema": lambda: sg.all_of(person, filters.letters(forbidden="xyz")),
        "all/grammar": lambda: sg.all_of(json_grammar(), filters.length(at_most=30)),
        "all/tokens": lambda: sg.all_of(words, filters.length(at_most=5, unit="tokens")),
        "all/empty": lambda: sg.all_of(sg.Regex("a+"), sg.Regex("b+")),
        "all/without": lambda: sg.all_of(sg.Regex("[ab]{1,6}"), filters.without(sg.Regex("a*"))),
        "any/mixed": lambda: sg.any_of("none", person, sg.Regex("[0-9]+")),
        "any/grammars": lambda: sg.any_of(json_grammar(), sg.Gbnf(ARITHMETIC)),
        "sequence/mixed": lambda: sg.sequence("Name: ", words, "\n", person, sg.Choice([".", "!"])),
        "sequence/grammar": lambda: sg.sequence("```json\n", json_grammar(), "\n```"),
    }


def makers() -> dict[str, Maker]:
    """All of them by name."""
    return dict([*schema_makers(), *other_makers()])
