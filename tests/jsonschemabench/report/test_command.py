"""The command `report` makes a page that runs no text of the results, and the right tables."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.main import main
from tests.jsonschemabench.made import Record, header, record, timed, write

EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\ud800"
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use", "rect"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Page(HTMLParser):
    """What a browser finds in a page: tags, ids, texts; the tags must nest."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes and that the tag is open."""
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes."""
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        """The tag opened last must be this one."""
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        (self.scripts if self._open[-1:] == ["script"] else self.texts).append(data)


def run_records() -> list[Record]:
    """Two engines and three cases; one case fails in each way that a reader wants to see."""
    wrong = [{"data": {"a": EVIL}, "valid": False, "accepted": True, "position": 7}]
    error = {"kind": "unsupported", "message": f"'not' {EVIL}"}
    schema = {"title": EVIL, "$comment": "needle"}
    return [
        timed("a---1", "structgen", [1, 2, 3], first_mask_ns=1000, memory_peak=2_000_000),
        timed("a---1", "peer", [10, 20, 30], first_mask_ns=5000, memory_peak=3_000_000),
        timed("a---2", "structgen", [1, 2], first_mask_ns=2000),
        timed(
            "a---2", "peer", [4], first_mask_ns=9, schema=schema, wrong=wrong
        ) | {"outcome": "accepted invalid"},
        record("b---3", "structgen", "refused satisfiable", error=error),
        record("b---3", "peer", "crash", reason="time limit", schema_bytes=70_000),
    ]  # fmt: skip


def made(tmp_path: Path, *files: Path, options: tuple[str, ...] = (), plots: bool = False) -> str:
    """The page that the command makes of the files; drawing takes long, so only when asked."""
    out = tmp_path / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        if not plots:
            patch.setattr("jsonschemabench.report.command.find_spec", lambda name: None)
        elif find_spec("matplotlib") is None:
            pytest.skip("matplotlib is not installed")
        assert main(["report", *map(str, files), "-o", str(out), *options]) == 0
    return out.read_text(encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results file with everything in it."""
    return write(tmp_path / "r.jsonl", run_records())


def test_the_page_needs_nothing_else(results: Path, tmp_path: Path) -> None:
    """No attribute leads out of the page, and its policy lets it load nothing."""
    page = Page(made(tmp_path, results, plots=True))
    for tag, name, value in page.attributes:
        assert name not in {"src", "srcset", "action", "data"}
        assert not name.startswith("on")
        assert name not in {"href", "xlink:href"} or value.startswith("#"), (tag, value)
    policy = next(v for t, n, v in page.attributes if t == "meta" and "default-src" in v)
    assert "default-src 'none'" in policy
    digest = hashlib.sha256(page.scripts[0].encode()).digest()
    assert base64.b64encode(digest).decode() in policy
    assert len(page.scripts) == 1


@pytest.mark.thorough
def test_ids_are_unique(results: Path, tmp_path: Path) -> None:
    """Also with two runs, whose plots come from the same code."""
    page = Page(made(tmp_path, results, results, plots=True))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 0


@pytest.mark.thorough
def test_texts_of_the_results_are_shown_and_never_run(tmp_path: Path) -> None:
    """Names, messages, instances and schemas with tags in them add no tag."""
    plain = Page(made(tmp_path, write(tmp_path / "plain.jsonl", run_records()), plots=True))
    records = [
        {k: EVIL + v if k in ("case", "dataset", "engine", "reason") else v for k, v in r.items()}
        for r in run_records()
    ]
    first = header(engines=[EVIL + "structgen", EVIL + "peer"]) | {"options": {EVIL: EVIL}}
    first |= {"date": EVIL, "command": EVIL}
    page = made(
        tmp_path,
        write(tmp_path / "evil.jsonl", records, first),
        options=("--title", EVIL[:-2]),
        plots=True,
    )
    evil = Page(page)
    assert len(evil.scripts) == len(plain.scripts) == 1
    assert {t for t, _, _ in evil.attributes} == {t for t, _, _ in plain.attributes}
    assert "<script>alert(1)" in "".join(evil.texts)
    assert "onerror" not in {name for _, name, _ in evil.attributes}


def test_a_failure_shows_what_a_reader_needs(results: Path, tmp_path: Path) -> None:
    """Schema, instance, verdict, message and reason; what passes is not listed."""
    text = "".join(Page(made(tmp_path, results)).texts)
    for said in (
        "invalid, but accepted after 7 tokens",
        "needle",
        "refused satisfiable, unsupported: 'not'",
        "crash, time limit",
        "Schema of 70000 bytes",
    ):
        assert said in text


def test_long_schemas_are_cut_and_say_so(tmp_path: Path) -> None:
    """The page stays small."""
    schema = {"enum": ["x" * 1000 for _ in range(50)]}
    path = write(tmp_path / "r.jsonl", [record("a", "e", "crash", schema=schema)])
    page = made(tmp_path, path)
    assert re.search(r"\.\.\. 4\d,\d{3} more characters", page)
    assert page.count("x" * 900) < 10


def test_failures_are_worst_first_and_at_most_so_many(tmp_path: Path) -> None:
    """What is left out is counted."""
    records = [record(f"b---{n}", "e", "refused satisfiable") for n in range(5)]
    records.append(record("a---9", "e", "accepted invalid"))
    page = made(tmp_path, write(tmp_path / "r.jsonl", records), options=("--failures", "2"))
    ids = re.findall(r'<td class="id">([^<]*)<', page)
    assert ids == ["a---9", "b---0"]
    assert "4 more cases" in page


def test_the_tables_go_to_stdout(results: Path, tmp_path: Path, capsys: Any) -> None:
    """Coverage, percentiles, ratios and failures, with their figures."""
    made(tmp_path, results)
    out, err = capsys.readouterr()
    assert "| structgen | 3 | 66.7 % | 2 | 0 | 1 | 0 | 0 | 0 |" in out
    assert "| peer | 3 | 33.3 % | 1 | 0 | 0 | 0 | 1 | 1 |" in out
    assert "How many times longer the peers take than structgen" in out
    seen = next(
        line for line in out.splitlines() if line.startswith("| Time per mask, schema seen")
    )
    assert seen.endswith("| 10.0× | 8.89× |")  # max 30 / 3 µs, mean 16 / 1.8 µs
    assert "| a---2 | a | pass | accepted invalid |" in out
    assert "wrote" in err


def test_a_run_of_generate_has_its_own_coverage(tmp_path: Path, capsys: Any) -> None:
    """Declared, empirical and compliance, of the texts that can be judged, as the paper has it."""
    records = [
        record("a", "e", declared=True, right=3, fields=4),
        record("b", "e", "accepted invalid", declared=True, right=0, fields=4),
        record("c", "e", "refused satisfiable", declared=False),
        record("d", "e", "incomplete", declared=True),
        record("x", "e", declared=True, valid=None),
        record("a", "unconstrained", declared=True, valid=True),
    ]
    made(tmp_path, write(tmp_path / "r.jsonl", records, header("generate", ["e"])))
    out = capsys.readouterr().out
    assert "| e | 4 | 75.0 % | 25.0 % | 33.3 % | 37.5 % |" in out
    assert "| unconstrained | 1 | – | 100 % | – | – |" in out


def test_a_run_of_generate_says_how_fast_it_writes(tmp_path: Path, capsys: Any) -> None:
    """Bytes per second of decoding and of the engine alone, and the time of a later token."""
    spent = {"model_ns": 6_000_000, "engine_ns": 3_000_000, "other_ns": 1_000_000}
    written = {"tokens": 5, "bytes": 30, "total_ns": 12_000_000, "first_token_ns": 4_000_000}
    records = [record("a", "e", declared=True) | spent | written]
    made(tmp_path, write(tmp_path / "r.jsonl", records, header("generate", ["e"])))
    assert "| e | 1 | 5 | 3,000 | 10,000 | 2.00 | 30.0 % |" in capsys.readouterr().out


def test_bad_files_are_left_out(results: Path, tmp_path: Path, capsys: Any) -> None:
    """One line each on stderr and in the page; the good file is reported."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("")
    only = write(tmp_path / "only.jsonl", [])
    page = made(tmp_path, bad, results, only)
    err = capsys.readouterr().err
    for path in (bad, only):
        assert sum(str(path) in line for line in err.splitlines()) == 1
        assert str(path) in page


def test_nothing_to_report_is_bad_input(tmp_path: Path, capsys: Any) -> None:
    """Status 2 and no page."""
    only = write(tmp_path / "only.jsonl", [])
    assert main(["report", str(only), "-o", str(tmp_path / "p.html")]) == 2
    assert "no results to report" in capsys.readouterr().err
    assert not (tmp_path / "p.html").exists()


def test_a_page_that_cannot_be_written_costs_one_line(results: Path, capsys: Any) -> None:
    """The path of the page is below a file."""
    assert main(["report", str(results), "-o", str(results / "page.html")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].count("cannot be written") == 1


def test_without_matplotlib_there_are_tables(results: Path, tmp_path: Path) -> None:
    """The page says that the plots are missing."""
    page = made(tmp_path, results)
    assert "<svg" not in page
    assert "matplotlib is not installed" in page
    assert "<table" in page


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_any_name_can_be_reported(case: str, engine: str, message: str) -> None:
    """Any case id, engine and message; the page parses, the tables stay tables."""
    from jsonschemabench.report.chapter import chapter
    from jsonschemabench.report.data import Run
    from jsonschemabench.report.page import markdown, page

    one = record(case, engine, "crash", error={"kind": "k", "message": message}, features=[case])
    run = Run(Path("r.jsonl"), header(engines=[]), {case: {engine: one}}, [])
    chapters = [chapter(run, "structgen", 10).without_plots()]
    Page(page(message, chapters, [message]).encode().decode())
    rows = [line for line in markdown("t", chapters, []).splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


CLICKS = """<script>
const heads = [...document.querySelectorAll("table.sortable th button")];
const numbered = heads.filter((b) => b.parentNode.textContent === "pass");
const column = (th) => [...th.closest("table").tBodies[0].rows]
  .map((row) => row.cells[0].textContent).join(",");
const said = {};
numbered[0].click();
said.down = column(numbered[0].parentNode);
numbered[0].click();
said.up = column(numbered[0].parentNode);
const shown = () => [...document.querySelectorAll(".cases tbody:not([hidden]) td.id")]
  .map((cell) => cell.textContent).join(",");
const cases = document.querySelector(".cases");
said.all = shown();
const choose = (name, value) => {
  cases.querySelector(`[name=${name}]`).value = value;
  cases.dispatchEvent(new Event("input"));
};
const after = (ms) => new Promise((done) => setTimeout(done, ms));
(async () => {
  choose("outcome", "crash");
  await after(300);
  said.crash = shown();
  choose("engine", "structgen");
  await after(300);
  said.none = shown();
  choose("outcome", "");
  await after(300);
  said.structgen = shown();
  choose("engine", "");
  choose("search", "AFTER 7 TOKENS");
  await after(300);
  said.search = shown();
  document.body.textContent = "SAID" + JSON.stringify(said) + "SAID";
})();
</script></body>"""


@pytest.mark.slow
def test_a_browser_sorts_and_filters(results: Path, tmp_path: Path) -> None:
    """Clicks on heads and choices in filters, as a user makes them."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no chromium to open the page in")
    page = re.sub(r"<meta http-equiv[^>]*>", "", made(tmp_path, results))
    driven = tmp_path / "driven.html"
    driven.write_text(page.replace("</body>", CLICKS), encoding="utf-8")
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            driven.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search("SAID(.*)SAID", done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    assert json.loads(found[1]) == {
        "down": "structgen,peer",
        "up": "peer,structgen",
        "all": "a---2,b---3",
        "crash": "b---3",
        "none": "",
        "structgen": "b---3",
        "search": "a---2",
    }


@pytest.mark.thorough
def test_plots_are_written_when_asked(results: Path, tmp_path: Path) -> None:
    """As PNG and SVG, named by what they show."""
    made(tmp_path, results, options=("--plots", str(tmp_path / "plots")), plots=True)
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    assert {"coverage-by-dataset.png", "seen-before-tail.svg"} <= names
    png = (tmp_path / "plots" / "coverage-by-dataset.png").read_bytes()
    assert png.startswith(b"\x89PNG")
