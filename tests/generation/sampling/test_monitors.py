"""Tests that monitors refuse unknown names, and nothing else."""

from __future__ import annotations

import builtins
import keyword
import re
import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import GenerationError
from structgen.generation.sampling.exact import exact_law
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.potentials.joined import join
from structgen.generation.sampling.potentials.monitors import Monitor, Monitored, TokenIndex
from structgen.generation.sampling.potentials.names_python import PythonNames
from structgen.generation.sampling.potentials.names_sql import KEYWORDS, SqlNames, prepares
from structgen.generation.sampling.potentials.potentials import Critic
from structgen.generation.sampling.samplers.particles import run
from structgen.generation.sampling.samplers.steps import AwrsStep, MaskStep, Stepper
from structgen.generation.sampling.table import TableModel
from structgen.masks import bitmask

BYTES = sg.Vocabulary([bytes([i]) for i in range(256)])


class Members(Monitor):
    """Behind `x.` stand the given members; nothing else is watched."""

    def __init__(self, *members: str) -> None:
        self.members = members

    def triggered(self, text: str) -> bool:
        """See `Monitor.triggered`."""
        return text.endswith("x.")

    def names(self, text: str) -> Collection[str]:
        """See `Monitor.names`."""
        return self.members


TYPES = {"list": ("len", "push", "pop"), "str": ("length", "trim"), "map": ("len", "keys", "é")}


class Symbols(Monitor):
    """A toy language: `let NAME:TYPE;` declares, `use NAME.MEMBER;` uses."""

    def triggered(self, text: str) -> bool:
        """See `Monitor.triggered`."""
        return re.search(r"(?:use |:|\.)$", text) is not None

    def names(self, text: str) -> Collection[str]:
        """See `Monitor.names`."""
        if text.endswith(":"):
            return list(TYPES)
        declared = dict(re.findall(r"let (\w+):(\w+);", text))
        if text.endswith("use "):
            return list(declared)
        return TYPES[declared[re.findall(r"(\w+)\.$", text)[0]]]


def judged(critic: Critic, text: str) -> tuple[bool, bool]:
    """Whether a text may go on, and whether it may be all."""
    potential = critic.over(BYTES)
    tokens = [tuple(text.encode())]
    return bool(potential.log_prefix(tokens)[0] == 0), bool(potential.log_complete(tokens)[0] == 0)


@pytest.mark.parametrize(
    ("members", "text", "may_go_on", "may_be_all"),
    [
        (["len"], "x.len", True, True),
        (["len"], "x.leng", False, False),
        (["len"], "x.len(", True, True),
        (["len"], "x.le", True, False),
        (["len"], "x.le(", False, False),
        (["length"], "x.len", True, False),
        (["length"], "x.len(", False, False),
        (["length"], "x.len + x.length", False, False),
        (["len", "length"], "x.len", True, True),
        (["len", "length"], "x.lengt", True, False),
        (["len", "length"], "x.length + x.len", True, True),
        (["len", "length"], "x.lengths", False, False),
        (["len"], "xx. foo y.bar", True, True),
        (["len"], "ax.len", True, True),
        (["len"], "x.(", True, True),
        (["len"], "x.9a", True, True),
        (["größe"], "x.größe", True, True),
        (["größe"], "x.gr", True, False),
        (["größe"], "x.grö-", False, False),
        ([], "x.a", False, False),
    ],
)
def test_a_name_is_known_from_its_first_to_its_last_character(
    members: list[str], text: str, may_go_on: bool, may_be_all: bool
) -> None:
    """The boundaries of `len` and `length`, and what is not a watched name."""
    assert judged(Monitored(Members(*members)), text) == (may_go_on, may_be_all)


PIECES = ["x.", "x", ".", "l", "le", "len", "length", "gth", "n(", "(", " ", "é", "x.len", "en.x."]
CUT = sg.Vocabulary([p.encode() for p in PIECES] + [b"\xc3", b"\xa9"])
cuts = st.lists(st.sampled_from(range(CUT.size)), max_size=6).map(tuple)


@given(cuts)
def test_it_does_not_matter_how_names_are_cut(tokens: tuple[int, ...]) -> None:
    """The verdict on tokens is that on the same text byte by byte."""
    critic = Monitored(Members("len", "length", "é"))
    potential = critic.over(CUT)
    data = CUT.decode_bytes(tokens)
    one = potential.log_prefix([tokens])[0], potential.log_complete([tokens])[0]
    bytewise = critic.over(BYTES)
    assert one == (
        bytewise.log_prefix([tuple(data)])[0],
        bytewise.log_complete([tuple(data)])[0],
    )


@given(cuts, st.sampled_from([("len",), ("length", "é"), ("x", "lenx"), ()]))
def test_narrowing_takes_away_only_what_is_refused(
    tokens: tuple[int, ...], members: tuple[str, ...]
) -> None:
    """A cleared bit is a refused token, and inside a name few others are left."""
    potential: Any = Monitored(Members(*members)).over(CUT)
    if potential.log_prefix([tokens])[0] != 0:
        return
    row = bitmask.pack(np.ones(CUT.size, np.bool_))
    potential.narrow(tokens, row)
    kept = bitmask.unpack(row, CUT.size)
    passing = potential.log_prefix([(*tokens, t) for t in range(CUT.size)]) == 0
    assert not (passing & ~kept).any()
    if CUT.decode_bytes(tokens).endswith(b"x."):
        assert not kept[PIECES.index("gth")]


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=30), st.data())
def test_the_token_index_finds_what_a_scan_finds(pieces: list[bytes], data: st.DataObject) -> None:
    """Tokens that write a part of a name or go beyond it, and those with a wanted first letter."""
    vocabulary = sg.Vocabulary([*pieces, *pieces[:3]])
    index = TokenIndex(vocabulary)
    names = data.draw(st.lists(st.sampled_from(pieces), max_size=3))
    names += [name + piece for name, piece in zip(names, pieces, strict=False)]
    written = bitmask.unpack(index.writing(names), vocabulary.size)
    starting = bitmask.unpack(index.starting(str.isalpha), vocabulary.size)
    for i, token in enumerate(vocabulary.tokens):
        assert token is not None
        assert written[i] == any(n.startswith(token) or token.startswith(n) for n in names)
        first = token.decode(errors="replace")[:1]
        assert starting[i] == (first != "\ufffd" and first.isalpha())


def walk(
    posterior: Posterior, tokens: int, stepper: Stepper | None = None
) -> Iterator[tuple[str, int]]:
    """Texts that a posterior's steps write, whole ones and cut ones, until so many tokens."""
    rng = np.random.default_rng(0)
    while tokens > 0:
        [[particle]] = run(posterior, stepper or MaskStep(), 1, [rng])
        written = posterior.text_tokens(particle.place)
        tokens -= len(written) + 1
        text = posterior.constraint.vocabulary.decode_bytes(written).decode(errors="replace")
        yield text, len(written)


def uniform(vocabulary: sg.Vocabulary) -> TableModel:
    """Every token is equally probable everywhere."""
    row = [1.0] * vocabulary.size
    model = TableModel(vocabulary.size, lambda _: row)
    constant = np.full((1, vocabulary.size), -np.log(vocabulary.size))
    model.log_probs = lambda prefixes: np.repeat(constant, len(prefixes), 0)  # type: ignore[method-assign]
    return model


TOY = sg.Vocabulary(
    [t.encode() for t in "let |use |a|b|ab|:|;|.|list|li|st|str|map|len|length|gth|push|pu|sh|pop|"
     "trim|keys|é|:list;|use a.|.len;|;let b".split("|")] + [b"\xc3", b"\xa9", b"</s>"],
    eos_ids=[29],
)  # fmt: skip
PROGRAM = sg.Regex(r"(let [ab]{1,3}:[a-zé]{1,6};|use [ab]{1,3}\.[a-zé]{1,8};)*")


def undefined(text: str) -> int:
    """How many uses of the toy program's text are of names or members that do not exist."""
    declared: dict[str, str] = {}
    count = 0
    for name, kind, used, member in re.findall(r"let (\w+):(\w+);|use (\w+)\.(\w+);", text):
        if name:
            declared[name] = kind
            count += kind not in TYPES
        else:
            count += member not in TYPES.get(declared.get(used, ""), ())
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("stepper", [AwrsStep(), MaskStep()])
def test_no_undefined_name_in_ten_thousand_tokens(stepper: Stepper) -> None:
    """The toy language with its symbol table; without the monitor most programs are wrong."""
    plain = sg.compile(PROGRAM, TOY)
    joined, _ = join(plain, [Monitored(Symbols())])
    posterior = Posterior(uniform(TOY), joined, max_tokens=40, stop="eos")
    used = 0
    for text, _ in walk(posterior, 10_000, stepper):
        assert undefined(text) == 0
        used += text.count("use ")
    assert used > 100
    free = Posterior(uniform(TOY), plain, max_tokens=40, stop="eos")
    assert sum(undefined(text) for text, _ in walk(free, 2_000)) > 50


def test_the_distribution_is_unchanged_where_nothing_is_triggered() -> None:
    """Texts without a watched name keep their probabilities, relative to each other, exactly."""
    vocabulary = sg.Vocabulary([b"x", b".", b"len", b"a", b"</s>"], eos_ids=[4])
    plain = sg.compile(sg.Regex(r"[xa](\.?[xa])?(\.[a-z]{1,3})?"), vocabulary)
    joined, _ = join(plain, [Monitored(Members("len"))])
    model = TableModel.random(5, 1)
    before = exact_law(Posterior(model, plain, max_tokens=6, stop="eos"))
    after = exact_law(Posterior(model, joined, max_tokens=6, stop="eos"))
    untouched = {t for t in before.log_probs if b"x." not in vocabulary.decode_bytes(t)}
    assert len(untouched) > 5
    assert before.log_probs.keys() - after.log_probs.keys()
    for tokens in untouched:
        assert after.log_probs[tokens] + after.log_evidence == pytest.approx(
            before.log_probs[tokens] + before.log_evidence
        )


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    """Two tables, one with a column that needs quotes."""
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE users (id INTEGER, name TEXT, "first name" TEXT)')
    connection.execute("CREATE TABLE orders (id INTEGER, user_id INTEGER, total REAL)")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("SELECT name FROM users", True),
        ("SELECT nam", True),
        ("SELECT nam ", False),
        ("SELECT names", False),
        ("select users.total", False),
        ("select users.name", True),
        ('SELECT "first name" FROM users', True),
        ('SELECT "first ', True),
        ('SELECT "last ', False),
        ("SELECT [name]", False),
        ("SELECT 'no such name' FROM customers", False),
        ("SELECT 'no such name' FROM orders", True),
        ("SELECT total /* nowhere */ FROM orders -- nowhere", True),
        ("SELECT name AS anything FROM users ORDER BY anything", True),
        ("SELECT name FROM users u WHERE u.name", True),
        ("SELECT name FROM users u WHERE u.total", False),
        ("SELECT name FROM users u WHERE v.", False),
        ("SELECT total FROM orders AS o, users WHERE o.total > users.id", True),
        ("WITH big AS (SELECT id FROM orders) SELECT id FROM big", True),
        ("SELECT count(*) FROM users", True),
        ("SELECT counts(*) FROM users", False),
        ("SELECT count FROM users", False),
        ("INSERT INTO orders (id) VALUES (1)", True),
        ("INSERT INTO bills", False),
        ("INSERT OR IGNORE INTO orders (id) VALUES (1)", True),
        ("SELECT having FROM orders", False),
        (
            "SELECT DISTINCT id FROM users WHERE id IS NOT NULL OR id IN (SELECT id FROM orders)",
            True,
        ),
        ("SELECT * FROM users GROUP BY name HAVING count(*) > 1", True),
        ("name", False),
    ],
)
def test_sql_names_are_those_of_the_database(
    database: sqlite3.Connection, text: str, known: bool
) -> None:
    """Tables, columns of tables and aliases, functions, keywords; literals are not watched."""
    assert judged(Monitored(SqlNames(database)), text)[0] is known


def test_a_changed_schema_is_read_again(database: sqlite3.Connection) -> None:
    """The connection is live: a new column is known at once."""
    critic = Monitored(SqlNames(database))
    assert judged(critic, "SELECT email FROM users") == (False, False)
    database.execute("ALTER TABLE users ADD COLUMN email TEXT")
    assert judged(critic, "SELECT email FROM users") == (True, True)


def test_sqlite_prepares_what_the_check_of_whole_texts_lets_through(
    database: sqlite3.Connection,
) -> None:
    """Known names that do not fit together are refused at the end, and nothing is run."""
    check = prepares(database)
    assert judged(check, "SELECT name FROM users")[1]
    assert not judged(check, "SELECT name FROM orders")[1]
    assert not judged(check, "QUERY PLAN SELECT 1")[1]
    assert not judged(check, "SELECT 1; SELECT 2")[1]
    assert judged(check, "DROP TABLE users")[1]
    assert database.execute("SELECT count(*) FROM users").fetchone() == (0,)


SQL_PIECES = (
    "SELECT |select | FROM |name|na|me|id|user|users|user_id|s|_id|total|to|orders|order|u|o|,|, |."
    "| |WHERE |=|1|'x'| AS |first|\"|first name|\"first|u.|JOIN |</s>"
).split("|")


@pytest.mark.thorough
def test_sql_walks_name_only_what_exists(database: sqlite3.Connection) -> None:
    """Ten thousand tokens of queries: each name is a column, table or alias; some of them run."""
    vocabulary = sg.Vocabulary([p.encode() for p in SQL_PIECES], eos_ids=[len(SQL_PIECES) - 1])
    name = r'([a-z_]{1,8}|"[a-z ]{1,12}")'
    query = sg.Regex(
        rf"SELECT {name}(\.{name})?(, {name})? FROM {name}( AS {name})?( WHERE {name}=(1|'x'))?"
    )
    names, fits = Monitored(SqlNames(database)), prepares(database)
    joined, _ = join(sg.compile(query, vocabulary), [names])
    posterior = Posterior(uniform(vocabulary), joined, max_tokens=40, stop="eos")
    known = {"users", "orders", "name", "id", "user_id", "total", "first name"}
    lengths = runs = 0
    for text, length in walk(posterior, 10_000):
        lengths += length
        aliases = set(re.findall(rf" AS {name}", text))
        body = re.sub(rf" AS {name}|'x'|SELECT|FROM|WHERE", " ", text)
        written = re.findall(r'"[^"]*"?|\w+', body)
        whole = written[:-1]  # the last may be cut
        allowed = known | aliases | {n.strip('"') for n in aliases} | {"1"}
        for one in whole:
            assert one.strip('"') in allowed or one.upper() in KEYWORDS, text
        runs += judged(fits, text)[1]
    assert runs > 20


jedi_needed = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BEFORE = """import math

class Point:
    unit = "mm"
    def norm(self): return 1.0

here = Point()
count = 3

def area(width, height):
    box = Point()
    return """


@jedi_needed
@pytest.mark.parametrize(
    ("before", "text", "known"),
    [
        (BEFORE, "width", True),
        (BEFORE, "widths", False),
        (BEFORE, "wid + ", False),
        (BEFORE, "box.unit", True),
        (BEFORE, "box.units", False),
        (BEFORE, "math.sin(width) + heigh", True),
        (BEFORE, "math.sine", False),
        (BEFORE, "'wrong' + here.unit", True),
        (BEFORE, "nowhere", False),
        (BEFORE, "width # nowhere", True),
        (BEFORE, "area(width, height=count)", True),
        (BEFORE, "print(width, sep==", False),
        (BEFORE, "(lambda side: side", True),
        (BEFORE, "(lambda side: sides", False),
        (BEFORE, "1.e5 + 0x1f + count", True),
        (BEFORE, "width.anything", True),
        (BEFORE, "AbstractSet", False),
        ("", "x = 1\ny = x", True),
        ("", "x = 1\ny = nowhere", False),
        ("", "for i in range(3):\n    print(i)", True),
        ("", "for i in range(3):\n    print(j", False),
        ("", "def f(a, b=1):\n    return a + b", True),
        ("", "def f(a, b=1):\n    return nowhere", False),
        ("", "import os\nos.path.joi", True),
        ("", "import os\nos.path.joy", False),
        ("", "with open('f') as file: file.read", True),
        ("", "if x", False),
        ("", '"""nowhere', True),
    ],
)
def test_python_names_are_those_in_scope(before: str, text: str, known: bool) -> None:
    """Uses of names and attributes are known to jedi; definitions, strings, comments are free."""
    pytest.importorskip("jedi")
    assert judged(Monitored(PythonNames(before)), text)[0] is known


@jedi_needed
def test_python_walks_name_only_what_is_in_scope() -> None:
    """Sums of names and attributes: each exists when the file is run."""
    pytest.importorskip("jedi")
    pieces = (
        "width|wid|th|height|he|ight|s|box|bo|here|count|math|Point|.|unit|un|it|norm| + |sin|x|pi"
    )
    vocabulary = sg.Vocabulary([p.encode() for p in [*pieces.split("|"), "</s>"]], eos_ids=[22])
    sums = sg.Regex(r"[A-Za-z]{1,8}(\.[a-z]{1,6})?( \+ [A-Za-z]{1,8}(\.[a-z]{1,6})?)*")
    joined, _ = join(sg.compile(sums, vocabulary), [Monitored(PythonNames(BEFORE))])
    posterior = Posterior(uniform(vocabulary), joined, max_tokens=24, stop="eos")
    scope: dict[str, Any] = {"width": 1.0, "height": 2.0}
    exec(BEFORE + "0", scope)
    scope["box"] = scope["Point"]()
    seen = 0
    for text, _ in walk(posterior, 2_000):
        for term in text.split(" + ")[:-1]:
            name, _, attribute = term.partition(".")
            assert name in scope or hasattr(builtins, name) or keyword.iskeyword(name), text
            if attribute and name in scope and name not in {"width", "height"}:
                assert hasattr(scope[name], attribute), text
            seen += 1
    assert seen > 100


def test_python_names_need_jedi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(GenerationError, match="jedi"):
        PythonNames()
