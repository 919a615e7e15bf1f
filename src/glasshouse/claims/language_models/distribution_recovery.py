"""Claim: an API that shows two probabilities and takes a logit bias reveals the whole distribution in V + 1 calls."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import zero
from glasshouse.llms.distribution_recovery import CLOSED, RATIO, Recovery
from glasshouse.llms.next_token_api import LogitsAPI

TOPS = (2, 5, 20)
# The tokens of the vocabulary of which the picture shows the calls.
DRAWN_SIZE = 500
# An error of a log-probability below this does not matter.
TOLERANCE = 1e-3
BIAS = 3.0


class DistributionRecovery(RandomCheck):
    """Recovers random distributions from the two largest probabilities, by the reported derivation and by a repaired one."""

    group = GROUPS[7]
    statement = (
        "An API that shows the two largest probabilities and takes a logit bias reveals the whole distribution in at most "
        "V + 1 calls, since a bias of b adds exp(b) to what a token has before normalisation."
    )
    source = "course work on large language models: a derivation"
    reported = "at most V + 1 calls, by a formula that adds exp(b)"
    why = (
        "A bias changes the probability of a token, and the change depends on what the token had. Biased far enough, every "
        "token is among the two that are shown."
    )
    procedure = (
        "Random logits of 50 to 300 tokens are shown as an API shows them: the largest log-probabilities, after a bias. By "
        f"the reported derivation, a token with the bias {BIAS:g} has p'(v) / p'(v*) = (p(v) + exp(b)) / p(v*), where v* is "
        "the most likely token; solved for p(v), it must give every probability. Beside it, repaired: a bias adds b to the "
        "logit, so it multiplies by exp(b), and two tokens with the same bias keep the ratio of their probabilities. With "
        f"two log-probabilities shown, every one must then be right to {TOLERANCE:g}, with at most V + 1 calls."
    )
    would_change = (
        "Nothing, for the derivation. An API that rounds log-probabilities makes the repaired one less exact, and one that "
        "shows them before the bias needs other methods."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "added/off": Quantity("tokens whose probability is wrong if exp(b) is added", "count", "tokens"),
        "ratio/off": Quantity("tokens whose log-probability is wrong, same bias for both tokens", "count", "tokens"),
        "ratio/many-calls": Quantity("whether more than V + 1 calls were made", "0: no, 1: yes"),
        "closed-form/off": Quantity("tokens whose log-probability is wrong, closed form", "count", "tokens"),
        **{
            f"calls/{method}/{top}": Quantity(f"calls for {DRAWN_SIZE} tokens, top {top}, {method}", "calls", "calls")
            for method in (RATIO, CLOSED)
            for top in TOPS
        },
    }
    parts = (
        zero("added/off", name="adding exp(b) gives every probability"),
        zero("ratio/off", name="repaired, the ratio of two tokens with the same bias: every log-probability", decides=False),
        zero("ratio/many-calls", name="repaired: at most V + 1 calls", decides=False),
        zero("closed-form/off", name="the closed form, in float64: every log-probability", decides=False),
    )
    figures = (
        LineFigure(
            "calls",
            "log-probabilities that an answer shows",
            f"calls for {DRAWN_SIZE} tokens",
            {method: {top: f"calls/{method}/{top}" for top in TOPS} for method in (RATIO, CLOSED)},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        logits = _random_logits(draw(generator, 50, 300), generator)
        by_ratio = Recovery(LogitsAPI(logits, most_top=2), "", 2, RATIO).run()
        closed = Recovery(LogitsAPI(logits, most_top=2), "", 2, CLOSED).run()
        known = logits - np.logaddexp.reduce(logits)
        values = {
            "added/off": float((np.abs(_by_adding(logits) - np.exp(known)) > TOLERANCE).sum()),
            "ratio/off": float((np.abs(by_ratio.log_probabilities - known) > TOLERANCE).sum()),
            "ratio/many-calls": float(by_ratio.calls > len(logits) + 1),
            "closed-form/off": float((np.abs(closed.log_probabilities - known) > TOLERANCE).sum()),
        }
        drawn = _random_logits(DRAWN_SIZE, generator)
        for method in (RATIO, CLOSED):
            for top in TOPS:
                found = Recovery(LogitsAPI(drawn, most_top=top), "", top, method).run()
                values[f"calls/{method}/{top}"] = float(found.calls)
        return values


def _random_logits(size: int, generator: torch.Generator) -> np.ndarray:
    """Logits with a standard deviation of 3, one of which is 6 higher."""
    logits: np.ndarray = 3 * torch.randn(size, generator=generator, dtype=torch.float64).numpy()
    logits[draw(generator, 0, size - 1)] += 6
    return logits


def _by_adding(logits: np.ndarray) -> np.ndarray:
    """The probabilities by the reported derivation, from one answer for each token that shows it beside the top token."""
    api = LogitsAPI(logits, most_top=len(logits))
    answer = api.ask("", len(logits), {})
    best, best_value = answer.top[0]
    found = np.exp([value for _, value in sorted(answer.top)])
    for token in range(len(logits)):
        if token != best:
            shown = dict(api.ask("", len(logits), {token: BIAS}).top)
            found[token] = math.exp(best_value + shown[token] - shown[best]) - math.exp(BIAS)
    return found
