"""An argument parser that says what was probably meant by an unknown command, option or choice."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import NoReturn

SIMILAR = 0.6  # difflib's ratio from which on two names are taken for the same word
_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)'")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<given>--?[\w-]+)")


class Parser(argparse.ArgumentParser):
    """argparse's parser; commands get one, too."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave, with status 2."""
        super().error(message + self._meant(message))

    def _meant(self, message: str) -> str:
        choice, unknown = _CHOICE.search(message), _UNKNOWN.search(message)
        if unknown:
            names = [name for action in self._actions for name in action.option_strings]
            given = unknown["given"]
        elif choice:
            names = [str(n) for action in self._actions for n in action.choices or ()]
            given = choice["given"]
        else:
            return ""
        close = difflib.get_close_matches(given, names, 1, SIMILAR)
        return f"; did you mean {close[0]!r}?" if close else ""
