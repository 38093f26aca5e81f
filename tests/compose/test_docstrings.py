"""Parameters are described alike in docstrings of all the styles that people write."""

from __future__ import annotations

import pytest

from structgen.compose.tools.docstrings import about_parameters, summary

GOOGLE = """The weather to come.

    More about it: nothing.

    Args:
        place: where to look,
            in words
        days (int, optional): how far ahead
        **more: what else

    Returns:
        a text
    """
NUMPY = """The weather to come.

    Parameters
    ----------
    place : str
        where to look,
        in words
    days, more : int, optional
        how far ahead

        A second paragraph.

    Returns
    -------
    other : str
        a text
    """
SPHINX = """The weather to come.
    :param place: where to look,
        in words
    :param int days: how far ahead
    :type days: int
    :returns: a text
    """
EPYTEXT = """
    The weather to come.
    @param place: where to look, in words
    @type place: str
    @param days: how far ahead
    @return: a text
    """
PLAIN = """The weather to come.

    place: where to look, in words
    days: how far ahead"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX, EPYTEXT, PLAIN])
def test_each_style_says_the_same(docstring: str) -> None:
    """The texts of parameters in one line each, and the first paragraph."""
    found = about_parameters(docstring)
    assert found["place"] == "where to look, in words"
    assert found["days"] == "how far ahead"
    assert summary(docstring).strip() == "The weather to come."
    assert "other" not in found


def test_some_say_nothing() -> None:
    """No docstring, types without texts, times of the day and addresses."""
    assert about_parameters("") == {}
    assert summary("") == ""
    assert about_parameters("Parameters\n----------\nplace : str\ndays : int\n") == {}
    assert about_parameters("See https://example.org at 10:30.") == {}
