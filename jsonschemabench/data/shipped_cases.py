"""Makes cases of the grammars that ship with structgen, with their accepting examples as texts.

structgen takes a grammar by its name, with the lexing and the layout that belong to it. Other
engines get its text without what those that read Lark's language do not have: see `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from jsonschemabench.data.cases import Case, Instance
from jsonschemabench.engines.engine import LARK, SHIPPED
from structgen.grammar.readers.lark.text import LarkText
from structgen.grammar.shipped import examples, shipped

_PIECE = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\(\?[=!]|.", re.DOTALL)
_PRIORITY = re.compile(r"^([A-Z_][A-Z_0-9]*)[.]-?[0-9]+(?= *:)", re.MULTILINE)


def read(names: Iterable[str]) -> tuple[list[Case], str]:
    """The cases of some grammars, and a digest of them."""
    cases = [_case(name) for name in names]
    digest = blake2b(digest_size=8)
    for case in cases:
        digest.update("\0".join([*case.texts.values(), *(i.text for i in case.instances)]).encode())
    return cases, digest.hexdigest()


def _case(name: str) -> Case:
    instances = [Instance(text, valid=True) for text in examples(name).accept.values()]
    texts = {SHIPPED: name, LARK: plain(shipped(name).grammar)}
    return Case(name, "shipped", texts, instances, [], "viable")


def plain(grammar: str) -> str:
    """A Lark grammar without lookaheads and priorities of terminals.

    It may allow more texts then: `/in(?![a-z])/` becomes `/in/`.
    """
    pieces, end = [], 0
    for token in LarkText(grammar).tokens():
        if token.lastgroup == "regexp":
            pieces += [grammar[end : token.start()], _without_looks(token[0])]
            end = token.end()
    return _PRIORITY.sub(r"\1", "".join([*pieces, grammar[end:]]))


def _without_looks(pattern: str) -> str:
    """A pattern without its lookaheads."""
    kept = []
    opened = 0  # groups that are open, counted from that of the lookahead; 0 outside of one
    for piece in _PIECE.findall(pattern):
        if opened or piece in ("(?=", "(?!"):
            opened += piece.startswith("(") - (piece == ")")
        else:
            kept.append(piece)
    return "".join(kept)
