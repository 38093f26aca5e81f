"""Penalties: transforms of the next token's distribution, for `generate(transforms=[...])`.

    generator.generate(prompt, spec, transforms=[penalties.LoopGuard(), penalties.GrammarDecay()])

Repetition      presence, frequency and repetition penalties, by what was written
NoRepeatNgram   no n-gram of tokens is written twice
GrammarDecay    what the grammar lets repeat without end gets less likely the longer it repeats
LoopGuard       a text that repeats itself in a cycle is led to the end of the current structure
MinTokens       the model does not end the text too early
Bias            some tokens are more or less likely

Required keys and other forced text are not penalised, and some token is always left. Drafts are
verified against the distribution of their own path, so all of these work with speculation.
"""

from __future__ import annotations

from structgen.generation.penalties.counts import NoRepeatNgram, Repetition
from structgen.generation.penalties.decay import GrammarDecay
from structgen.generation.penalties.loops import LoopGuard
from structgen.generation.penalties.tokens import Bias, MinTokens

__all__ = ["Bias", "GrammarDecay", "LoopGuard", "MinTokens", "NoRepeatNgram", "Repetition"]
