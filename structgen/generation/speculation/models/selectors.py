"""Which layers draft: by search (SWIFT), by similar prompts (KNN-SSD), by early exit, by likeness.

The last is CLaSp: the layers whose output comes nearest to that of all layers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from structgen.generation.speculation.interfaces import LearnsNothing, Round
from structgen.generation.speculation.masked import allowed_ids
from structgen.generation.speculation.models.layer_skip import FixedLayers, Selection
from structgen.generation.speculation.models.layers import Layered
from structgen.generation.speculation.policies.exit_layer import Del
from structgen.generation.speculation.tree import Context


def spread(depth: int, kept: int) -> tuple[int, ...]:
    """`kept` of `depth` layers, evenly spread, the first and the last among them."""
    return tuple(dict.fromkeys(np.linspace(0, depth - 1, kept).round().astype(int).tolist()))


def matching(
    model: Layered, layers: Sequence[int], context: Context, window: int
) -> tuple[int, int]:
    """How many of the last tokens of a text these layers would have drafted, and of how many.

    The best of the tokens that the constraint allowed is what they draft (SWIFT's matchness).
    window: at most so many tokens are looked at; O(tokens of prompt and text) in one pass or two.
    """
    written = context.written
    window = min(window, len(written))
    states = [context.constraint.start]
    for token in written[:-1]:
        states.append(context.constraint.advance(states[-1], token))
    target, _ = model.part(layers)
    cache, first = target.prefill([context.tokens[:-window]])
    rest = target.forward(cache, [context.tokens[-window:]]).numpy()[:-1]
    rows = np.concatenate([first.numpy(), rest])
    hits = 0
    for row, state, token in zip(rows, states[-window:], written[-window:], strict=True):
        ids = allowed_ids(context, state)
        hits += int(ids[row[ids].argmax()]) == token
    return hits, window


class Swift:
    """Searches layers of a model while texts are written (SWIFT: Xia et al. 2025).

    After some rounds a set that differs from the present one in one layer is compared with it on
    the last tokens of the text; the one that has drafted more of all tokens it was tried on goes
    on. (The paper searches at random and by Bayesian optimisation; here it is a climb, and layers
    are left out whole.) What is found serves all texts.
    """

    def __init__(
        self,
        share: float = 0.6,
        *,
        trials: int = 32,
        every: int = 4,
        window: int = 32,
        seed: int = 0,
    ) -> None:
        """share: of the layers, that are kept. trials: sets to compare; every: rounds from one to
        the next; window: tokens to compare them on, at least a quarter of them."""
        self.share = share
        self.trials = trials
        self.every = every
        self.window = window
        self._rng = np.random.default_rng(seed)
        # For each set that was tried: tokens it would have drafted rightly, and tokens seen.
        self._tried: dict[tuple[int, ...], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """None."""
        return ()

    def begin(self, model: Layered, context: Context) -> SwiftSelection:
        """See `Selector`."""
        return self.begin_with(model, self.best(model))

    def begin_with(self, model: Layered, layers: tuple[int, ...]) -> SwiftSelection:
        """Start on a text with layers of which something is known."""
        return SwiftSelection(self, model, layers)

    def best(self, model: Layered) -> tuple[int, ...]:
        """The best layers so far."""
        kept = max(1, round(self.share * model.depth))
        return max(self._tried, key=self._worth, default=spread(model.depth, kept))

    def improve(self, model: Layered, layers: tuple[int, ...], context: Context) -> tuple[int, ...]:
        """Try another set; returns the better one."""
        with self._lock:
            if self.trials < 1:
                return layers
            self.trials -= 1
            other = self._neighbour(layers, model.depth)
        if other == layers:
            return layers
        found = [(some, matching(model, some, context, self.window)) for some in (layers, other)]
        with self._lock:
            for some, (hits, total) in found:
                before = self._tried.get(some, (0, 0))
                self._tried[some] = before[0] + hits, before[1] + total
            return max((layers, other), key=self._worth)

    def _worth(self, layers: tuple[int, ...]) -> float:
        """Share of tokens drafted rightly; what was seen little of counts as half right."""
        hits, total = self._tried[layers]
        return (hits + 4) / (total + 8)

    def _neighbour(self, layers: tuple[int, ...], depth: int) -> tuple[int, ...]:
        left_out = sorted(set(range(depth)) - set(layers))
        if not left_out:
            return layers
        leaves, comes = self._rng.choice(layers), self._rng.choice(left_out)
        return tuple(sorted({*layers, int(comes)} - {int(leaves)}))


class SwiftSelection(LearnsNothing):
    """Swift at work on one text; a `Selection`."""

    def __init__(self, search: Swift, model: Layered, layers: tuple[int, ...]) -> None:
        self.layers = layers
        self._search = search
        self._model = model
        self._rounds = 0

    def observe(self, context: Context, seen: Round) -> None:
        """Now and then compare two sets."""
        self._rounds += 1
        if self._rounds % self._search.every or 4 * len(context.written) < self._search.window:
            return
        self.layers = self._search.improve(self._model, self.layers, context)


class NearestPrompt:
    """Begins with the layers that were best for the most similar prompt.

    That is KNN-SSD (Song et al. 2025), with one neighbour. A prompt is the mean of its tokens'
    embeddings. Where none is similar, the search begins with its own best; what it finds is
    remembered with the prompt.
    """

    def __init__(self, search: Swift, *, least: float = 0.9, memory: int = 256) -> None:
        """least: cosine from which prompts count as similar. memory: prompts remembered."""
        self.search = search
        self.least = least
        self._known: deque[tuple[npt.NDArray[np.float32], tuple[int, ...]]] = deque(maxlen=memory)

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """None."""
        return ()

    def begin(self, model: Layered, context: Context) -> NearestPromptSelection:
        """See `Selector`."""
        embedding = embed(model, context.prompt)
        near = max(self._known, key=lambda known: float(known[0] @ embedding), default=None)
        if near is None or near[0] @ embedding < self.least:
            inner = self.search.begin(model, context)
        else:
            inner = self.search.begin_with(model, near[1])
        return NearestPromptSelection(self, inner, embedding)

    def remember(self, embedding: npt.NDArray[np.float32], layers: tuple[int, ...]) -> None:
        """Note which layers were the best for a prompt."""
        self._known.append((embedding, layers))


class NearestPromptSelection:
    """A search whose outcome is remembered; a `Selection`."""

    def __init__(self, nearest: NearestPrompt, inner: SwiftSelection, embedding: Any) -> None:
        self._nearest = nearest
        self._inner = inner
        self._embedding = embedding

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers of the search."""
        return self._inner.layers

    def observe(self, context: Context, seen: Round) -> None:
        """The search learns."""
        self._inner.observe(context, seen)

    def end(self, context: Context) -> None:
        """Remember what was found."""
        self._nearest.remember(self._embedding, self.layers)


@torch.inference_mode()
def embed(model: Layered, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
    """float32[d], of length 1: what tokens are about, by their embeddings."""
    table = model.target.model.get_input_embeddings().weight
    mean = table[torch.tensor(tokens, device=table.device)].float().mean(0)
    found: npt.NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=0).cpu().numpy()
    return found


class EarlyExit:
    """The layers up to the exit that a `Del` policy has found to pay best."""

    def __init__(self, policy: Del) -> None:
        """`policy`: the one that also decides on the lengths; its head may be `Layered.logits`."""
        self.policy = policy

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """Those of the exits, for the policy."""
        return self.policy.layers

    def begin(self, model: Layered, context: Context) -> Selection:
        """The exit is chosen once for each text: a change would make the text be read again."""
        return FixedLayers(range(self.policy.layer))


class Clasp:
    """Chooses by dynamic programming over the last verified tokens (CLaSp: Chen et al. 2025).

    Of the ways to run some of the first i layers, the one whose states are most similar to those of
    all i is kept for each number of layers left out; the choice for all layers drafts. (The paper
    looks at one token, with the target's cache; here it is a few tokens that see one another.)
    """

    def __init__(self, share: float = 0.6, *, every: int = 8, window: int = 16) -> None:
        """share: of the layers, that are kept. every: rounds between choices. window: tokens."""
        self.share = share
        self.every = every
        self.window = window

    def hidden(self, model: Layered) -> tuple[int, ...]:
        """The states before each layer. ModelError when layers cannot be run one by one."""
        model.check_runs()
        return tuple(range(model.depth))

    def begin(self, model: Layered, context: Context) -> ClaspSelection:
        """See `Selector`."""
        return ClaspSelection(self, model)

    def choose(self, model: Layered, states: torch.Tensor, first: int) -> tuple[int, ...]:
        """The layers to run: states [tokens, depth, d] before each layer, of tokens from `first`.

        O(depth * skipped) runs of a layer over those tokens.
        """
        most = model.depth - max(1, round(self.share * model.depth))
        last = model.run(model.depth - 1, states[None, :, -1], first)[0]
        # By the number of layers left out so far: the path with states nearest to the full ones.
        best: dict[int, LayerPath] = {0: LayerPath((), states[:, 0])}
        for layer in range(model.depth):
            full = states[:, layer + 1] if layer + 1 < model.depth else last
            after = model.run(layer, torch.stack([way.states for way in best.values()]), first)
            ways: dict[int, list[LayerPath]] = {}
            for (skipped, way), new in zip(best.items(), after, strict=True):
                ways.setdefault(skipped, []).append(LayerPath((*way.layers, layer), new))
                ways.setdefault(skipped + 1, []).append(way)
            best = {skipped: _nearest(ways[skipped], full) for skipped in ways if skipped <= most}
        return best[most].layers


class LayerPath(NamedTuple):
    """Layers that were run, and the states [tokens, d] after them."""

    layers: tuple[int, ...]
    states: torch.Tensor


def _nearest(ways: list[LayerPath], full: torch.Tensor) -> LayerPath:
    """The path whose states are most similar to those of all layers: by their mean cosine."""
    cosine = torch.nn.functional.cosine_similarity
    return max(ways, key=lambda way: float(cosine(way.states, full, dim=-1).mean()))


class ClaspSelection(LearnsNothing):
    """Clasp at work on one text; a `Selection`."""

    def __init__(self, clasp: Clasp, model: Layered) -> None:
        self.layers = spread(model.depth, max(1, round(clasp.share * model.depth)))
        self._clasp = clasp
        self._model = model
        self._rounds = 0
        self._states: Any = None  # of the last tokens [tokens, depth, d]
        self._read = 0  # tokens whose states were seen

    def observe(self, context: Context, seen: Round) -> None:
        """Look at the states of what was kept, and every few rounds choose again."""
        if seen.hidden is None:
            return
        rows = seen.hidden if seen.width == 0 else seen.hidden[[0, *seen.path]]
        self._read += len(rows)
        known = rows if self._states is None else torch.cat([self._states, rows])
        self._states = known[-self._clasp.window :]
        if self._rounds % self._clasp.every == 0:
            first = self._read - len(self._states)
            self.layers = self._clasp.choose(self._model, self._states, first)
        self._rounds += 1
