"""What is written to a terminal, a pipe and a dumb terminal."""

from __future__ import annotations

import io

import pytest

from structgen.cli import terminal
from structgen.cli.terminal import Terminal


class Screen(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        """Always."""
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests decide about colours."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_pipe_gets_no_control_characters() -> None:
    """Colours and progress are left out where nobody looks on."""
    out, err = io.StringIO(), io.StringIO()
    screen = Terminal(out, err)
    screen.progress("half")
    screen.say(screen.styled("done", "green"))
    screen.fail("no")
    screen.result("{}")
    assert err.getvalue() == "done\nstructgen: error: no\n"
    assert out.getvalue() == "{}\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and TERM=dumb hold on a terminal too."""
    monkeypatch.setenv(name, value)
    screen = Terminal(Screen(), Screen())
    assert screen.styled("x", "red") == "x"
    assert screen.styled("x", "red", on_out=True) == "x"


def test_a_terminal_gets_colours_and_one_progress_line() -> None:
    """A progress line is redrawn at most ten times a second, and gone before the next message."""
    err = Screen()
    screen = Terminal(io.StringIO(), err)
    for i in range(1000):
        screen.progress(f"step {i}")
    screen.say(screen.styled("done", "bold"))
    assert err.getvalue().startswith(f"{terminal.CLEAR_LINE}step 0")
    assert err.getvalue().endswith(f"{terminal.CLEAR_LINE}\x1b[1mdone\x1b[0m\n")
    assert err.getvalue().count("step") < 20


def test_colours_are_decided_for_each_stream() -> None:
    """Piping the result does not take the colours from the messages."""
    screen = Terminal(io.StringIO(), Screen())
    assert screen.styled("x", "red", on_out=True) == "x"
    assert screen.styled("x", "red") == "\x1b[31mx\x1b[0m"


def test_an_error_cannot_act_on_the_terminal() -> None:
    """Control and direction characters of a file's content arrive as escapes; text stays."""
    err = io.StringIO()
    Terminal(io.StringIO(), err).fail("at /a\x1b[2J\u202eé\r\x85/名\nline two")
    assert err.getvalue() == ("structgen: error: at /a\\x1b[2J\\u202eé\\r\\x85/名\nline two\n")


def test_amounts_and_times_are_readable() -> None:
    """Each number is shown in the unit that suits it."""
    assert terminal.amount(1, "state") == "1 state"
    assert terminal.amount(12345, "state") == "12,345 states"
    assert [terminal.amount(n, "B") for n in (0, 1023, 1536, 3 << 20, 5 << 30, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "3.0 MiB",
        "5.0 GiB",
        "5120.0 GiB",
    ]
    assert [terminal.duration(s) for s in (0.00085, 0.012, 3.44)] == ["850 µs", "12 ms", "3.4 s"]
