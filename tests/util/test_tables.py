"""Tables as text."""

from __future__ import annotations

from structgen.util.tables import columns, markdown, markdown_line


def test_markdown_says_which_columns_are_flush_right() -> None:
    """A line for the heads, one for the sides, one for each row."""
    text = markdown(["a", "b"], [["x", "1"], ["y", "22"]], right={1})
    assert text.splitlines() == ["| a | b |", "| --- | ---: |", "| x | 1 |", "| y | 22 |"]
    assert markdown(["a"]) == "| a |\n| --- |"
    assert markdown_line(["x", ""]) == "| x |  |"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """The first is flush left, the others flush right."""
    assert columns([["name", "n"], ["a", "10"]]) == "name   n\na     10"
