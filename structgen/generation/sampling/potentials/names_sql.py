"""`SqlNames`: a monitor that knows the tables and columns of an open SQLite database.

The schema is read from the live connection, again whenever it has changed. After a point stand the
columns of that table or alias, after FROM, JOIN, INTO and UPDATE tables, elsewhere columns, tables,
aliases, functions, and the keywords that can stand there. New names may follow AS, WITH and the
name of a table. As with all monitors a name must be known where it is written: an alias can be used
after the FROM that defines it. Whether the names fit together only a whole statement shows:
`prepares` asks SQLite.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection

from structgen.generation.sampling.potentials.monitors import Monitor
from structgen.generation.sampling.potentials.predicates import OnText

_REMEMBERED = 4096  # answers that are kept as long as the schema is the same
# Literals and comments, closed or not; a name in double quotes is none of them.
_QUOTED = re.compile(r"'(?:[^']|'')*(?:'|(?P<open>\Z))|--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)")
_NAME = r'(?:[^\W\d]\w*|"(?:[^"]|"")*")'
_POINT = re.compile(rf"({_NAME})\s*\.\s*$")
_NEW = re.compile(r"\b(?:AS|WITH|RECURSIVE)\s+$", re.IGNORECASE)
_SOURCE = r"\b(?:FROM|JOIN|INTO|UPDATE)\s+"
_TABLE_NEXT = re.compile(rf"{_SOURCE}(?:{_NAME}(?:\s+(?:AS\s+)?{_NAME})?\s*,\s*)*$", re.IGNORECASE)
_TABLE_BEFORE = re.compile(
    rf"{_SOURCE}(?:{_NAME}(?:\s+(?:AS\s+)?{_NAME})?\s*,\s*)*{_NAME}\s+$", re.IGNORECASE
)
_SOURCES = re.compile(
    rf"{_SOURCE}((?:{_NAME}(?:\s+(?:AS\s+)?{_NAME})?\s*,\s*)*{_NAME}(?:\s+(?:AS\s+)?{_NAME})?)",
    re.IGNORECASE,
)
_ONE_SOURCE = re.compile(rf"({_NAME})(?:\s+(?:AS\s+)?({_NAME}))?\s*(?:,|$)", re.IGNORECASE)
_RESULT = re.compile(rf"\bAS\s+({_NAME})", re.IGNORECASE)
_COMMON = re.compile(rf"({_NAME})(?:\s*\([^()]*\))?\s+AS\s*\(", re.IGNORECASE)
# What an operand follows; `*` may be one itself, and INSERT OR and UPDATE OR say what to do.
_BEFORE_OPERAND = re.compile(
    r"(?:\b(?:SELECT|DISTINCT|ALL|WHERE|AND|(?<!INSERT )(?<!UPDATE )OR|NOT|ON|BY|HAVING|SET|WHEN"
    r"|THEN|ELSE|CASE|LIKE|GLOB|IN|BETWEEN|IS|RETURNING|LIMIT|OFFSET|USING)\s+|[,(=<>+\-/%|&!]\s*)$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

KEYWORDS = frozenset(
    """ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN
    BETWEEN BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS
    CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED
    DELETE DESC DETACH DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS
    EXPLAIN FAIL FALSE FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS
    HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS
    ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL
    NULLS OF OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY
    RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING
    RIGHT ROLLBACK ROW ROWS SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION
    TRIGGER TRUE UNBOUNDED UNION UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE
    WINDOW WITH WITHOUT""".split()
)  #: of SQLite 3.47

OPERANDS = frozenset(
    """ALL CASE CAST CONFLICT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DISTINCT EXISTS
    FALSE NOT NULL RAISE SELECT TRUE VALUES WHEN WITH""".split()
)  #: the keywords that can stand where an operand is expected


class SqlNames(Monitor):
    """The names of a live SQLite database, where the text is one SQL statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._read_at: int | None = None
        self._columns: dict[str, list[str]] = {}  # by table, in lower case
        self._tables: list[str] = []
        self._functions: frozenset[str] = frozenset()
        self._known: dict[str, frozenset[str]] = {}

    def begins(self, character: str) -> bool:
        """See `Monitor.begins`; names may be in quotes, but only in double ones."""
        return character in '"`[' or super().begins(character)

    def triggered(self, text: str) -> bool:
        """Whether a name after `text` is a use: in no literal or comment, and not a definition."""
        code = _without_literals(text)
        return code is not None and not (_NEW.search(code) or _TABLE_BEFORE.search(code))

    def names(self, text: str) -> Collection[str]:
        """See the module; keywords and functions in upper and in lower case."""
        self._read()
        code = _without_literals(text) or ""
        if code not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[code] = self._analyse(code)
        return self._known[code]

    def _analyse(self, code: str) -> frozenset[str]:
        common = set(map(_unquoted, _COMMON.findall(code)))
        sources = _sources(code)
        qualified = _POINT.search(code)
        if qualified:
            table = sources.get(_unquoted(qualified[1]).lower(), _unquoted(qualified[1]))
            known = self._columns.get(table.lower())
            return _spellings(self._all_columns() if known is None else known)
        if _TABLE_NEXT.search(code):
            return _spellings(common.union(self._tables))
        if not code.strip():
            return _in_both_cases(KEYWORDS)
        words = OPERANDS if _BEFORE_OPERAND.search(code) else KEYWORDS
        defined = common.union(sources, map(_unquoted, _RESULT.findall(code)))
        names = _spellings(defined.union(self._tables, self._all_columns()))
        return names | _in_both_cases(words | self._functions)

    def _all_columns(self) -> set[str]:
        return {name for names in self._columns.values() for name in names}

    def _read(self) -> None:
        """Read the schema if it is not the one read last."""
        [version] = self._connection.execute("PRAGMA schema_version").fetchone()
        if version == self._read_at:
            return
        rows = self._connection.execute(
            "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c "
            "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
        functions = self._connection.execute("SELECT DISTINCT name FROM pragma_function_list")
        # A function's name is none without its parenthesis.
        calls = (f"{name}(" for (name,) in functions if _PLAIN.fullmatch(name))
        self._functions = frozenset(["rowid", *calls])
        self._tables = list(dict.fromkeys(table for table, _ in rows))
        self._columns = {}
        for table, column in rows:
            self._columns.setdefault(table.lower(), []).append(column)
        self._known.clear()
        self._read_at = version


def prepares(connection: sqlite3.Connection) -> OnText:
    """A critic of whole texts: SQLite can prepare the statement, so all names are right together.

    The statement is explained, not run.
    """

    def is_right(text: str) -> bool:
        if text.lstrip().lower().startswith("query"):  # EXPLAIN QUERY PLAN is another statement
            return False
        try:
            connection.execute(f"EXPLAIN {text}").close()
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            return False
        return True

    return OnText(is_right)


def _without_literals(text: str) -> str | None:
    """The text with its literals and comments emptied; None where it ends in one."""
    for found in _QUOTED.finditer(text):
        if found.end() == len(text) and (
            found["open"] is not None
            or found[0].startswith("--")
            or (found[0].startswith("/*") and not found[0].endswith("*/"))
        ):
            return None
    return _QUOTED.sub(lambda found: "''" if found[0].startswith("'") else " ", text)


def _sources(code: str) -> dict[str, str]:
    """The tables that a statement names, by alias or else by their own name, in lower case."""
    found: dict[str, str] = {}
    for part in _SOURCES.findall(code):
        for table, alias in _ONE_SOURCE.findall(part):
            name = _unquoted(table)
            found[name.lower()] = name
            if alias and alias.upper() not in KEYWORDS:
                found[_unquoted(alias).lower()] = name
    return found


def _spellings(names: Collection[str]) -> frozenset[str]:
    """Each name in quotes, and plain where it needs none."""
    quoted = {'"' + name.replace('"', '""') + '"' for name in names}
    plain = {n for n in names if _PLAIN.fullmatch(n) and n.upper() not in KEYWORDS}
    return frozenset(quoted | plain)


def _in_both_cases(words: Collection[str]) -> frozenset[str]:
    return frozenset({w.upper() for w in words} | {w.lower() for w in words})


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
