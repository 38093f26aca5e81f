"""In: wishes about repetitions. Out: transforms of the law, for `generate(transforms=[...])`.

    generator.generate(prompt, spec, transforms=[penalties.LoopGuard(), penalties.GrammarDecay()])

Repetition      presence, frequency and repetition penalties, by what was written
NoRepeatNgram   no run of tokens comes twice
GrammarDecay    what the grammar lets go on for ever gets less likely the longer it goes on
LoopGuard       a text that goes round in circles is led to the end of what it is in
MinTokens       the model does not end the text too early
Bias            some tokens are more or less likely

Required keys and other forced text are spared, and no transform leaves nothing to write. Drafts are
verified against the law of their own path, so all of these work with speculation.
"""

from __future__ import annotations

from structgen.generation.penalties.counts import NoRepeatNgram, Repetition
from structgen.generation.penalties.decay import GrammarDecay
from structgen.generation.penalties.loops import LoopGuard
from structgen.generation.penalties.tokens import Bias, MinTokens

__all__ = ["Bias", "GrammarDecay", "LoopGuard", "MinTokens", "NoRepeatNgram", "Repetition"]
