"""The whole distribution of the next token, from an API that shows the top k log-probabilities and takes a logit bias.

A bias of b multiplies a token's odds by exp(b): it adds b to the logit l. So where two tokens v and w have the same bias and
are both shown, the difference of their log-probabilities is l_v - l_w, whatever b is. Four methods follow:

- ratio: each call biases k - 1 tokens together with the most likely token, and reads their differences from it:
  ceil((V - 1) / (k - 1)) calls in all. Robust.
- closed form: each call biases k tokens by b. With q, the sum of their probabilities p' after the bias, the probability
  before it is p' / (exp(b) - (exp(b) - 1) q). About V / k calls, but an error of p' grows by up to exp(b).
- forced, bisection: where log-probabilities are shown before the bias, only the sampled token answers to it. If its
  log-probability is shown, one call for each token forces it. Otherwise the bias at which it is sampled is bisected, as
  also where one log-probability with few digits is shown.

Axes: V vocabulary.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from glasshouse.generation.sampling import distribution, draw
from glasshouse.generation.sampling_options import Sampling
from glasshouse.llms.answer_journal import AnswerJournal
from glasshouse.llms.next_token_api import MOST_BIAS, Answer, NextTokenAPI
from glasshouse.specs.errors import GlasshouseError

RATIO, CLOSED, FORCED, BISECTION = METHODS = ("ratio", "closed-form", "forced", "bisection")
# Logits of a vocabulary rarely differ by more; a token that is further below the top is found to be missing.
SPREAD = 40.0
# The closed form is chosen if its expected error is below the first; what comes out with an error above the second is
# measured by ratios.
TOLERANCE, MOST_ERROR = 1e-4, 1e-3
# If a token of the closed form is not shown, its bias is raised by this.
BIAS_STEP = 10.0
# The bias at which a token is sampled is found to within this.
BISECTED = 5e-4
MOST_DECIMALS = 8


@dataclass(frozen=True)
class APIProbe:
    """What the first calls tell of an API.

    top: how many tokens an answer shows. after_bias: whether the bias is in the log-probabilities. rounding: the largest
    error of a log-probability, from the digits that are shown.
    """

    top: int
    after_bias: bool
    shows_sampled: bool
    rounding: float


@dataclass(frozen=True)
class RecoveryPlan:
    """How the distribution will be recovered, the calls that it takes in all, and the error to expect."""

    method: str
    calls: int
    expected_error: float


@dataclass(frozen=True)
class Recovered:
    """The log-probability of every token (V), its largest error (V), and what it took.

    `missing` tokens are too improbable for any bias to bring them into an answer; their probability is given as 0.
    """

    log_probabilities: np.ndarray
    errors: np.ndarray
    calls: int
    method: str
    missing: int

    def most_likely(self, count: int) -> list[int]:
        return [int(token) for token in np.argsort(-self.log_probabilities, kind="stable")[:count]]

    def sample(self, count: int, top_p: float = 1.0, temperature: float = 1.0, seed: int = 0) -> list[int]:
        """Draw next tokens from the recovered distribution, from the most likely ones that together reach `top_p`."""
        logits = torch.from_numpy(self.log_probabilities).expand(count, -1)
        probabilities = distribution(logits, Sampling(temperature=temperature, top_p=top_p, seed=seed))
        tokens: list[int] = draw(probabilities, torch.tensor(seed), torch.arange(count), torch.tensor(0)).tolist()
        return tokens


# A line of the journal: the bias, the token, its log-probability, and the most likely tokens with theirs.
KeptAnswer = tuple[str, int, float | None, list[tuple[int, float]]]


class Recovery:
    """Recovers the distribution of the next token after one prompt."""

    first: Answer  # without a bias
    unseen: list[int]  # the tokens that it does not show

    def __init__(
        self, api: NextTokenAPI, prompt: str, top: int = 20, method: str | None = None, journal: Path | None = None
    ) -> None:
        if top < 1:
            raise GlasshouseError("is below the minimum; choose 1 or more", "top", top)
        if method is not None and method not in METHODS:
            raise GlasshouseError(f"is not known; choose one of: {', '.join(METHODS)}", "method", method)
        self.api, self.prompt, self.top, self.method = api, prompt, top, method
        asked = {"model": api.name, "shows": api.shows, "vocabulary": api.vocabulary, "prompt": prompt, "top": top}
        self.journal = AnswerJournal(journal, KeptAnswer, lambda record: record[0], asked, "--journal")
        self.log_probabilities = np.full(api.vocabulary, np.nan)
        self.errors = np.zeros(api.vocabulary)
        self._asked: set[str] = set()  # the calls, in this process and before it
        self._progress: Callable[[int], None] = lambda calls: None

    def probe(self) -> APIProbe:
        """Two or three calls, all but the last of which are part of the recovery."""
        self.first = self._ask({})
        if not self.first.top:
            raise GlasshouseError(f"{self.api.name} shows no log-probabilities, so nothing can be recovered from it")
        seen = dict(self.first.top)
        self.unseen = [token for token in range(self.api.vocabulary) if token not in seen]
        after_bias, values = True, list(seen.values())
        if self.unseen:
            shown = dict(self._ask(dict.fromkeys(self._first_group(), MOST_BIAS)).top)
            values += shown.values()
            after_bias = any(token in shown and token not in seen for token in self._first_group())
        if not after_bias and self._ask({self.unseen[0]: MOST_BIAS}).token != self.unseen[0]:
            raise GlasshouseError(
                f"a bias of {MOST_BIAS:g} on token {self.unseen[0]} changes neither the log-probabilities of "
                f"{self.api.name} nor its next token; choose an API that takes a logit bias"
            )
        return APIProbe(len(seen), after_bias, self.first.log_probability is not None, rounding_error(values))

    def plan(self, probe: APIProbe) -> RecoveryPlan:
        """The method that suits the API, and what it takes."""
        unseen = len(self.unseen)
        if not unseen:
            return RecoveryPlan(RATIO, 1, probe.rounding)
        closed_error = 2 * probe.rounding * math.exp(self._closed_bias())
        steps = math.ceil(math.log2(MOST_BIAS / BISECTED))
        allowed = {}
        if probe.after_bias:
            allowed[CLOSED] = RecoveryPlan(CLOSED, 3 + math.ceil(unseen / probe.top), closed_error)
        if probe.after_bias and probe.top > 1:
            allowed[RATIO] = RecoveryPlan(RATIO, 2 + math.ceil(unseen / (probe.top - 1)), 4 * probe.rounding)
        if not probe.after_bias and probe.shows_sampled:
            allowed[FORCED] = RecoveryPlan(FORCED, 3 + unseen, 2 * probe.rounding)
        # The sampled token answers to a bias in either case.
        allowed[BISECTION] = RecoveryPlan(BISECTION, 3 + unseen * (steps + 1), BISECTED)
        if self.method is None:
            return next(plan for plan in allowed.values() if plan.method != CLOSED or closed_error < TOLERANCE)
        if self.method not in allowed:
            raise GlasshouseError(
                f"cannot work here: {self.api.name} shows {probe.top} log-probabilities "
                f"{('after' if probe.after_bias else 'before')} the bias; choose {' or '.join(allowed)}",
                "method",
                self.method,
            )
        return allowed[self.method]

    def run(self, progress: Callable[[float], None] = lambda share: None) -> Recovered:
        """Probe, plan and recover. Answers that the journal has are not asked for again."""
        probe = self.probe()
        plan = self.plan(probe)
        self._progress = lambda calls: progress(min(calls / plan.calls, 1.0))
        for token, value in self.first.top:
            self.log_probabilities[token], self.errors[token] = value, probe.rounding
        if plan.method == RATIO:
            self._by_ratio(probe)
        elif plan.method == CLOSED:
            self._by_closed_form(probe)
        elif plan.method == FORCED:
            self._by_force(probe)
        else:
            self._bisect(self.unseen, probe)
        missing = np.isnan(self.log_probabilities)
        found = np.where(missing, -np.inf, self.log_probabilities)
        # The probabilities of all tokens sum to 1, which makes up for the rounding of the most likely token.
        normalised = found - np.logaddexp.reduce(found)
        probabilities = np.exp(normalised)
        # If every probability were as much too low as its error allows, their sum would be this much too low.
        errors = self.errors + math.log((probabilities * np.exp(self.errors)).sum())
        self.journal.close()
        return Recovered(normalised, errors, len(self._asked), plan.method, int(missing.sum()))

    def _by_ratio(self, probe: APIProbe) -> None:
        measured = self._measure_ratios(self.unseen, probe)
        # Some tokens are measured once more with another bias. If they differ by more than rounding, all errors are larger.
        bias = 0.75 * MOST_BIAS
        near = [token for token in measured if self.first.top[0][1] - self.log_probabilities[token] < bias / 2]
        again = near[:: max(len(near) // max(probe.top - 1, 1), 1)][: probe.top - 1]
        values = self._ratios(again, bias) if again else {}
        noise = max((abs(value - self.log_probabilities[token]) for token, value in values.items()), default=0.0)
        if noise > 4 * probe.rounding:
            self.errors[measured] += noise

    def _measure_ratios(self, tokens: Sequence[int], probe: APIProbe) -> list[int]:
        """Measure tokens by their ratio to the most likely one, and return those that were shown."""
        measured: list[int] = []
        for group in _groups(tokens, probe.top - 1):
            for token, value in self._ratios(group, MOST_BIAS).items():
                self.log_probabilities[token], self.errors[token] = value, 3 * probe.rounding
                measured.append(token)
        return measured

    def _ratios(self, tokens: Sequence[int], bias: float) -> dict[int, float]:
        """Token -> log-probability, from one call that biases these tokens and the most likely one."""
        best, best_value = self.first.top[0]
        answer = dict(self._ask(dict.fromkeys([best, *tokens], bias)).top)
        return {token: best_value + answer[token] - answer[best] for token in tokens if token in answer and best in answer}

    def _by_closed_form(self, probe: APIProbe) -> None:
        bias, waiting = self._closed_bias(), self.unseen
        rounding = self._rounding_of_sums(bias, probe)
        imprecise: list[int] = []
        while waiting and bias <= MOST_BIAS:
            hidden: list[int] = []
            for group in _groups(waiting, probe.top):
                answer = dict(self._ask(dict.fromkeys(group, bias)).top)
                if any(token not in answer for token in group):
                    hidden += group
                    continue
                values, growth = unbiased([answer[token] for token in group], bias)
                if growth * rounding > MOST_ERROR:
                    imprecise += group
                    continue
                self.log_probabilities[group], self.errors[group] = values, growth * rounding
            waiting, bias = hidden, bias + BIAS_STEP
        # What the closed form cannot give is measured otherwise.
        rest = [*waiting, *imprecise]
        if probe.top > 1:
            self._measure_ratios(rest, probe)
        else:
            self._bisect(rest, probe)

    def _rounding_of_sums(self, bias: float, probe: APIProbe) -> float:
        """The error of a sum of probabilities: by the closed form for tokens whose probability was shown without a bias."""
        answer = dict(self._ask(dict.fromkeys([token for token, _ in self.first.top], bias)).top)
        shown = [(value, answer[token]) for token, value in self.first.top if token in answer]
        values, growth = unbiased([biased for _, biased in shown], bias)
        noise = float(np.abs(values - [known for known, _ in shown]).max())
        return max(probe.rounding, 4 * noise / growth)

    def _by_force(self, probe: APIProbe) -> None:
        for token in self.unseen:
            answer = self._ask({token: MOST_BIAS})
            if answer.token == token and answer.log_probability is not None:
                self.log_probabilities[token], self.errors[token] = answer.log_probability, probe.rounding

    def _bisect(self, tokens: Sequence[int], probe: APIProbe) -> None:
        """Find the bias at which each token is sampled instead of the most likely one."""
        for token in tokens:
            low, high = 0.0, MOST_BIAS
            if self._ask({token: high}).token != token:
                continue
            while high - low > BISECTED:
                middle = (low + high) / 2
                low, high = (low, middle) if self._ask({token: middle}).token == token else (middle, high)
            self.log_probabilities[token] = self.first.top[0][1] - (low + high) / 2
            self.errors[token] = (high - low) / 2 + probe.rounding

    def _ask(self, bias: Mapping[int, float]) -> Answer:
        key = json.dumps(sorted(bias.items()))
        if key not in self.journal.records:
            answer = self.api.ask(self.prompt, self.top, bias)
            self.journal.add((key, answer.token, answer.log_probability, answer.top), to_disk=False)
        if key not in self._asked:
            self._asked.add(key)
            self._progress(len(self._asked))
        _, token, shown, top = self.journal.records[key]
        return Answer(token, shown, tuple(top))

    def _first_group(self) -> list[int]:
        """The most likely token and the first unseen ones; an answer that shows one token has place for one unseen alone."""
        shown = len(self.first.top)
        return [self.first.top[0][0], *self.unseen[: shown - 1]] if shown > 1 else self.unseen[:1]

    def _closed_bias(self) -> float:
        """Just above what the tokens that were seen so far lack to the most likely one."""
        best, best_value = self.first.top[0]
        deficits = [best_value - value for _, value in self.first.top]
        shown = dict(self._ask(dict.fromkeys(self._first_group(), MOST_BIAS)).top)
        deficits += [shown[best] - value for value in shown.values()] if best in shown else []
        return min(max(deficits) + 5.0, SPREAD)


def _groups(tokens: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(tokens), max(size, 1)):
        yield tokens[start : start + max(size, 1)]


def unbiased(biased: Sequence[float], bias: float) -> tuple[np.ndarray, float]:
    """Log-probabilities without the bias that these tokens alone have, and how much larger their errors are.

    With q, the sum of the probabilities p' after the bias, the probability before it is p' / (e^b - (e^b - 1) q). If q is
    close to 1, little is left of 1 - q.
    """
    total = math.fsum(map(math.exp, biased))
    scale = math.exp(bias) * (1 - total) + total
    if scale <= 0:
        return np.asarray(biased) - bias, math.inf
    return np.asarray(biased) - math.log(scale), 1 + math.expm1(bias) * total / scale


def rounding_error(values: Iterable[float]) -> float:
    """The largest error of log-probabilities that are shown with so many digits.

    A number format rounds the sum of a logit and a bias too, which may be as large as the bias.
    """
    numbers = [value for value in values if value]
    for decimals in range(MOST_DECIMALS + 1):
        if all(abs(value - round(value, decimals)) < 1e-12 for value in numbers):
            return 0.5 * 10.0**-decimals
    largest = max([MOST_BIAS, *map(abs, numbers)])
    single = all(float(np.float32(value)) == value for value in numbers)
    return largest * 2.0 ** (-24 if single else -53)
