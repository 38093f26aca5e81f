"""Cells of a table show their texts, escaped, in HTML and Markdown; figures are rounded rightly."""

from __future__ import annotations

import html
import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.report.tables import (
    Figure,
    Table,
    count,
    escape,
    escape_markdown,
    ratio,
    share,
    significant,
)

TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("<>&\"'`|\\*_[]()!#$~{}\n\r\x00\x1b\u202e")),
    max_size=20,
)


class Cells(HTMLParser):
    """The texts of the `td` of a page, and the names of all its tags."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.add(tag)
        if tag == "td":
            self._inside = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        """A cell may end here."""
        self._inside = self._inside and tag != "td"

    def handle_data(self, data: str) -> None:
        """Keep the text of a cell."""
        if self._inside:
            self.cells[-1] += data


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3))
def test_a_cell_of_the_page_shows_its_text_and_adds_no_tag(rows: list[tuple[str, str]]) -> None:
    """A parser finds the texts again, but for characters that are not seen, which are escaped."""
    parsed = Cells(Table("<script>", ["<b>", '"'], rows, "</p><script>").html())
    assert parsed.cells == [html.unescape(escape(text)) for row in rows for text in row]
    assert parsed.tags == {"h3", "p", "div", "table", "thead", "tbody", "tr", "th", "td"}


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3))
def test_a_cell_in_markdown_shows_its_text_and_adds_no_markup(rows: list[tuple[str, str]]) -> None:
    """A renderer of Markdown, with HTML on, makes a table of the same size with plain cells."""
    markdown_it = pytest.importorskip("markdown_it", reason="no renderer of Markdown to judge by")
    written = Table("title", ["a", "b"], [["x", "y"], *rows]).markdown()
    page = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").render(written)
    parsed = Cells(page)
    assert len(parsed.cells) == 2 * (len(rows) + 1)
    assert parsed.tags <= {"h3", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("text", ["$ref", "Github_easy", "a-b", "draft7/items#3", "1.0"])
def test_plain_names_stay_as_they_are_in_markdown(text: str) -> None:
    """Names are found again with a search in the raw text."""
    assert escape_markdown(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "&lt;script&gt;"),
        ("two\nlines", "two lines"),
        ("$a and $b", "\\$a and $b"),
        ("*_x_*", "\\*\\_x\\_\\*"),
    ],
)
def test_markup_is_escaped_in_markdown(text: str, escaped: str) -> None:
    """Whatever a renderer would take for markup."""
    assert escape_markdown(text) == escaped


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (9999, 10000, "99.9 %"),
        (1, 10000, "<0.1 %"),
        (1, 2, "50.0 %"),
        (0, 0, "–"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: int, whole: int, text: str) -> None:
    """100 % means all and 0 % means none."""
    assert share(part, whole).text == text


@given(st.floats(1e-4, 1e12))
def test_a_number_keeps_three_digits(value: float) -> None:
    """Shown and read again, it is the same within half of the third digit."""
    shown = significant(value)
    assert "e" not in shown
    assert float(shown.replace(",", "")) == pytest.approx(value, rel=6e-3)


def test_numbers_are_written_for_people() -> None:
    """Thousands are set apart, and what is not a number is a dash."""
    assert [significant(v) for v in (0.84, 12.44, 1240.4, 0, math.nan, math.inf)] == [
        "0.840",
        "12.4",
        "1,240",
        "0",
        "–",
        "–",
    ]
    assert count(12345).text == "12,345"
    assert (ratio(2.0).tone, ratio(0.5).tone, ratio(math.nan).text) == ("good", "bad", "–")


def test_figures_sort_by_value_and_stand_on_the_right() -> None:
    """The page has the number beside its text; a missing number has none."""
    table = Table("t", ["a", "b"], [["x", Figure(1234.5, "1,234")], ["y", Figure(math.nan, "–")]])
    assert 'data-key="1234.5">1,234<' in table.html()
    assert 'data-key="">–<' in table.html()
    assert "| --- | ---: |" in table.markdown()
