"""The tasks of `speculate`: prompts with specs and, except for JSON, recorded texts.

JSON extraction is the demo model's own work: schemas and prompts of its corpus that it never saw.
Or it is that of MaskBench's schemas: the prompt has the schema, and in random order the values that
the text is to have, which is a valid instance of the case.
SQL, code and prose are recorded texts: queries to a small shop, functions of Python's library, and
paragraphs of this project's documentation.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import itertools
import json
import random
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structgen as sg
from jsonschemabench.data.cases import read_pack
from jsonschemabench.engines.engine import JSON_SCHEMA
from structgen.errors import StructgenError

_LONGEST = 240  # characters of a recorded function
_FEWEST, _MOST = 60, 500  # characters of an instance of MaskBench
_LARGEST = 2500  # characters of its schema, which stands in the prompt
WORKLOADS = ("json", "sql", "code", "free")
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Task:
    """A prompt, what its text must fit, and the text; None where the model says it."""

    workload: str
    prompt: str
    spec: Any
    text: str | None


def tasks(workload: str, count: int, seed: int, cases: Path | None = None) -> list[Task]:
    """`count` tasks, or as many as there are. cases: of MaskBench, for the JSON ones."""
    if workload == "json" and cases is not None:
        return list(itertools.islice(_wild(cases, seed), count))
    found = list(_SOURCES[workload](count, seed))
    start = seed % len(found)
    return (found[start:] + found[:start])[:count]


def _json(count: int, seed: int) -> Iterator[Task]:
    from structgen.demo.training.evaluate import unseen

    for example in unseen(count, seed):
        spec = sg.JsonSchema(example.schema, whitespace="bounded")
        yield Task("json", example.prompt, spec, None)


def _wild(cases: Path, seed: int) -> Iterator[Task]:
    """Cases in random order, those with a valid instance and a schema of some size."""
    from structgen.demo.training.evaluate import leaves

    pack = read_pack(cases)
    rng = random.Random(seed)
    rng.shuffle(pack.chosen)
    for case in pack:
        schema = case.texts[JSON_SCHEMA]
        found = [i for i in case.instances if i.valid and _FEWEST <= len(i.text) <= _MOST]
        if not found or len(schema) > _LARGEST:
            continue
        values = leaves(found[0].data)
        facts = [f"{where.rsplit('/', 1)[-1]}: {value}." for where, value in values.items()]
        rng.shuffle(facts)
        prompt = f"Extract what fits the schema.\n\nText: {' '.join(facts)}\n\nSchema: {schema}\n\n"
        spec = sg.JsonSchema(json.loads(schema), property_order="any")
        with contextlib.suppress(StructgenError):
            sg.check(spec, found[0].text)
            yield Task("json", prompt, spec, found[0].text)


_TABLES = """\
CREATE TABLE customers (id INTEGER, name VARCHAR(40), city VARCHAR(40), since DATE);
CREATE TABLE orders (id INTEGER, customer_id INTEGER, product_id INTEGER, quantity INTEGER, day DATE);
CREATE TABLE products (id INTEGER, name VARCHAR(40), price DECIMAL(8, 2), stock INTEGER);
"""  # noqa: E501

_QUERIES = {
    "Which customers live in Vienna?": "SELECT name FROM customers WHERE city = 'Vienna' "
    "ORDER BY name;",
    "How many orders did each customer make?": "SELECT customers.name, count(*) AS orders_made "
    "FROM customers JOIN orders ON orders.customer_id = customers.id GROUP BY customers.name "
    "ORDER BY orders_made DESC;",
    "Which products cost more than 100 and are out of stock?": "SELECT name, price FROM products "
    "WHERE price > 100 AND stock = 0;",
    "What is the total value of the orders of each customer?": "SELECT customers.name, "
    "sum(orders.quantity * products.price) AS total FROM orders JOIN customers ON "
    "orders.customer_id = customers.id JOIN products ON orders.product_id = products.id "
    "GROUP BY customers.name HAVING sum(orders.quantity * products.price) > 0 ORDER BY total DESC;",
    "Which products were never ordered?": "SELECT name FROM products WHERE NOT EXISTS "
    "(SELECT 1 FROM orders WHERE orders.product_id = products.id);",
    "Which three products sold best?": "SELECT products.name, sum(orders.quantity) AS sold FROM "
    "products JOIN orders ON orders.product_id = products.id GROUP BY products.name "
    "ORDER BY sold DESC LIMIT 3;",
    "Which customers ordered more than the average quantity?": "SELECT DISTINCT customers.name "
    "FROM customers JOIN orders ON orders.customer_id = customers.id WHERE orders.quantity > "
    "(SELECT avg(quantity) FROM orders);",
    "In which cities do customers without orders live?": "SELECT DISTINCT city FROM customers "
    "LEFT JOIN orders ON orders.customer_id = customers.id WHERE orders.id IS NULL ORDER BY city;",
    "Label each product as cheap, medium or dear.": "SELECT name, CASE WHEN price < 10 THEN "
    "'cheap' WHEN price < 100 THEN 'medium' ELSE 'dear' END AS label FROM products;",
    "What did each city order per product?": "WITH sales AS (SELECT customers.city, "
    "products.name, orders.quantity FROM orders JOIN customers ON orders.customer_id = "
    "customers.id JOIN products ON orders.product_id = products.id) SELECT city, name, "
    "sum(quantity) AS quantity FROM sales GROUP BY city, name ORDER BY city, quantity DESC;",
}


def _sql(_count: int, _seed: int) -> Iterator[Task]:
    spec = sg.shipped("sql")
    for question, query in _QUERIES.items():
        yield Task("sql", f"{_TABLES}\n-- {question}\n", spec, query)


#: Functions of Python's library, each written after another of its module.
_FUNCTIONS = {
    "colorsys": ("yiq_to_rgb", "rgb_to_hls", "rgb_to_hsv", "hsv_to_rgb"),
    "heapq": ("_siftdown", "_siftdown_max", "_siftup", "_siftup_max"),
    "copy": ("_deepcopy_list", "_deepcopy_tuple", "_deepcopy_dict", "_deepcopy_method"),
}


def _code(_count: int, _seed: int) -> Iterator[Task]:
    spec = sg.shipped("python")
    for module, names in _FUNCTIONS.items():
        sources = [_source(module, name) for name in names]
        for before, text in itertools.pairwise(sources):
            yield Task("code", before + "\n\n", spec, _beginning(text))


def _source(module: str, name: str) -> str:
    return textwrap.dedent(inspect.getsource(getattr(importlib.import_module(module), name)))


def _beginning(source: str) -> str:
    """As many lines of a function as are a function and have at most _LONGEST characters."""
    lines = source.splitlines(keepends=True)
    for count in range(len(lines), 1, -1):
        text = "".join(lines[:count])
        if len(text) <= _LONGEST:
            with contextlib.suppress(SyntaxError):
                ast.parse(text)
                return text
    return source


def _free(_count: int, _seed: int) -> Iterator[Task]:
    pages = [
        REPOSITORY / "jsonschemabench" / "README.md",
        REPOSITORY / "structgen" / "demo" / "README.md",
    ]
    for page in pages:
        parts = [" ".join(p.split()) for p in page.read_text(encoding="utf-8").split("\n\n")]
        prose = [p for p in parts if len(p) > 250 and p[0].isalpha()]
        for before, text in itertools.pairwise(prose):
            yield Task("free", before[-300:] + "\n\n", sg.FreeText(), text[:400])


_SOURCES = {"json": _json, "sql": _sql, "code": _code, "free": _free}
