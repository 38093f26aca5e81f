"""Make a language model write text that is certain to fit a schema, a pattern or a grammar.

To read the code, start here:

- `constraint.compiler.compile`: a spec and a vocabulary become a constraint, step by step:
  `spec.base` (specs; JSON Schema is in `schema.json_schema`, grammars in `grammar.specs`) ->
  `automata.interface` and `automata.pushdown.engine` (bytes that may follow) ->
  `masks.pushdown_masks` (tokens that may follow) -> `constraint.constraint` (states, kept masks).
- `generation.generator.generate`: a model and a constraint become text:
  `generation.generator` (options, values) -> `generation.loop` (forward pass, mask, token).

Packages import downwards only: errors, util, kernels, vocabulary, regular, automata, masks, spec,
schema, grammar, constraint, compose, demo, generation, integrations, cli. Inner loops are numba
code in `kernels`. `tests/test_tiny.py` shows the whole pipeline over twelve tokens.

The names (`__init__.pyi`) are loaded on first use: importing structgen compiles nothing and
imports neither torch nor transformers.
"""

from structgen.util.lazy import names_of_stub
from structgen.version import __version__ as __version__

__getattr__, __dir__ = names_of_stub(__name__, __file__)
