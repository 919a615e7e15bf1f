"""Speculative decoding: a small model drafts several tokens, and the large one checks them in one pass.

A drafted token is kept with probability min(1, p / q), where p and q are its probabilities under the large and the small
model; at the first that is not kept, another is drawn from max(p - q, 0), normalised. The text has the distribution of the
large model's (Leviathan et al. 2023, Chen et al. 2023), whatever the small one drafts.

Axes: B rows, T tokens, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from glasshouse.generation.engine import Row, SampledToken, report_tokens
from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.generation.sampling import SamplingRows, draw, uniform_numbers, within_vocabulary
from glasshouse.generation.sampling_options import Sampling
from glasshouse.specs.errors import GlasshouseError

# Random numbers for drafting, for keeping, and for what replaces a token are independent of each other.
DRAFT, KEEP, REPLACE = range(3)


class SpeculativeEngine:
    """Generates like `GenerationEngine`, several tokens a step. `kept / drafted` is the share of drafts that was kept.

    The text of a seed is another than without a draft. Fewer tokens are drafted while some row is about to fill its context,
    so near there the text depends on the other rows; its distribution does not.
    """

    def __init__(
        self, model: Any, draft: Any, context: int, draft_context: int, vocabulary: int | None = None, ahead: int = 4
    ) -> None:
        if ahead < 1:
            raise GlasshouseError("drafts nothing; choose 1 or more", "ahead", ahead)
        self.model, self.draft, self.ahead, self.vocabulary = model, draft, ahead, vocabulary
        self.context, self.draft_context = context, draft_context
        self.rows: list[Row] = []
        self.drafted = self.kept = 0
        self._target: IncrementalDecoder | None = None
        self._guess: IncrementalDecoder | None = None

    def add_all(self, prompts: Sequence[Sequence[int]], sampling: Sampling, alternatives: int = 0) -> list[Row]:
        if sampling.repetition_penalty != 1 or sampling.presence_penalty or sampling.frequency_penalty:
            raise GlasshouseError(
                "penalties depend on the tokens so far and cannot be checked in one pass; leave out the draft"
            )
        assert self._target is None
        self._target = IncrementalDecoder(self.model, [list(prompt) for prompt in prompts], self.context)
        self._guess = IncrementalDecoder(self.draft, [list(prompt) for prompt in prompts], self.draft_context)
        self.rows = [
            Row(tokens, sampling, number, alternatives, prompt_length=len(tokens))
            for number, tokens in enumerate(self._target.tokens)
        ]
        return list(self.rows)

    def remove(self, row: Row) -> None:
        assert self._target is not None
        assert self._guess is not None
        index = self.rows.index(row)
        self._target.remove(index)
        self._guess.remove(index)
        last = self.rows.pop()
        if last is not row:
            self.rows[index] = last

    @torch.inference_mode()
    def step(self) -> list[tuple[Row, SampledToken]]:
        """Sample one or more tokens of each row, in the order of the text."""
        target, guess, rows = self._target, self._guess, self.rows
        assert target is not None
        assert guess is not None
        # A window must not restart while tokens are checked, because those that are not kept are taken back.
        room = min(self.context - len(target.window(row)) for row in range(len(rows)))
        ahead = max(min(self.ahead, room - 1, self.draft_context // 2 - 2), 0)
        options = SamplingRows([row.sampling for row in rows], target.device)
        begins = [len(row.tokens) for row in rows]
        drafts, guesses = [], []
        for place in range(ahead):
            probabilities = self._distribution(guess.logits(), options)
            tokens = draw(probabilities, *self._words(options, place, DRAFT))
            for index, token in enumerate(tokens.tolist()):
                guess.append(index, token)
                target.append(index, token)
            drafts.append(tokens)
            guesses.append(probabilities)
        logits_BTV = target.last_logits(ahead + 1)
        alive = torch.ones(len(rows), dtype=torch.bool, device=target.device)
        results: list[list[SampledToken]] = [[] for _ in rows]
        for place in range(ahead + 1):
            logits = within_vocabulary(logits_BTV[:, place], self.vocabulary)
            wanted = self._distribution(logits, options)
            if place < ahead:
                drafted, q = drafts[place], guesses[place]
                p_of, q_of = (each.gather(-1, drafted[:, None])[:, 0] for each in (wanted, q))
                keep = uniform_numbers(*self._words(options, place, KEEP)).to(p_of) * q_of < p_of
                residual = (wanted - q).clamp(min=0)
                residual = torch.where(residual.sum(-1, keepdim=True) > 0, residual, wanted)
            else:
                keep, residual, drafted = torch.zeros_like(alive), wanted, torch.zeros_like(options.seeds)
            other = draw(residual, *self._words(options, place, REPLACE))
            chosen = torch.where(keep, drafted, other)
            reported = report_tokens(logits.log_softmax(-1), chosen, [row.alternatives for row in rows])
            for index, sampled in enumerate(reported):
                if alive[index]:
                    results[index].append(sampled)
            self.drafted += int(alive.sum()) if place < ahead else 0
            alive &= keep
            self.kept += int(alive.sum())
        pairs = []
        for index, row in enumerate(rows):
            for decoder in (target, guess):
                decoder.truncate(index, begins[index] + len(results[index]) - 1)
                decoder.append(index, results[index][-1].token)
            row.step += self.ahead + 1
            pairs += [(row, sampled) for sampled in results[index]]
        return pairs

    def _words(self, options: SamplingRows, place: int, purpose: int) -> tuple[Tensor, Tensor, Tensor]:
        """What the random numbers of a place are made of: the seed, the number of the row, and a number of the step."""
        numbers = torch.tensor([row.number for row in self.rows], device=options.device)
        steps = torch.tensor([3 * (row.step + place) + purpose for row in self.rows], device=options.device)
        return options.seeds, numbers, steps

    def _distribution(self, logits_BV: Tensor, options: SamplingRows) -> Tensor:
        return options.distribution(within_vocabulary(logits_BV, self.vocabulary))
