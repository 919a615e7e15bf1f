"""Recorded steps: the same texts as without them, whatever joins and leaves. On a CPU the steps run without a recording."""

import random
from itertools import product

import pytest
import torch

from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.recorded_steps import Row
from glasshouse.generation.sampling_options import Sampling
from tests.generation.small_models import CONTEXT, build_decoder, continue_greedily
from tests.needs import needs_cuda

# Two of eight combinations run every time.
SLOW = pytest.mark.slow
DEVICES = ["cpu", pytest.param("cuda", marks=needs_cuda)]
OPTIONS = [
    Sampling(temperature=0),
    Sampling(seed=2),
    Sampling(top_k=3, seed=5),
    Sampling(top_p=0.5),
    Sampling(min_p=0.1, temperature=1.4),
    Sampling(presence_penalty=1.0),  # not chosen by the recorded step
]
VOCABULARY = 60


def requests(schedule, options):
    """(step at which it comes, prompt, options, number, alternatives, length) of random texts."""
    chance = random.Random(schedule)
    for step in range(60):
        if chance.random() < 0.3:
            prompt = [chance.randrange(VOCABULARY - 3) for _ in range(chance.choice([1, 2, 5, 20]))]
            choice = chance.choice(options)
            yield step, prompt, choice, chance.randrange(3), chance.choice([0, 0, 0, 2]), chance.choice([1, 3, 10, 30])


def texts(model, recorded, schedule, chunk, options):
    """The texts of rows that join and leave."""
    engine = GenerationEngine(model, CONTEXT, VOCABULARY - 3, chunk=chunk, recorded=recorded)
    lengths: dict[Row, int] = {}
    waiting = list(requests(schedule, options))
    step = 0
    while waiting or engine.rows:
        while waiting and waiting[0][0] <= step:
            _, prompt, sampling, number, alternatives, length = waiting.pop(0)
            [row] = engine.add_all([prompt], sampling, [number], alternatives)
            lengths[row] = length
        for row, sampled in engine.step() if engine.rows else ():
            assert row.tokens[-1] == sampled.token < VOCABULARY - 3
            assert len(row.generated) <= lengths[row]
            if len(row.generated) == lengths[row]:
                engine.remove(row)
        step += 1
    return [row.generated for row in lengths]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("settings", "chunk", "options"),
    [
        pytest.param(settings, chunk, options, id=f"{name}-{chunk}-{settings}", marks=SLOW if place < 7 else ())
        for place, ((name, options), chunk, settings) in enumerate(
            product(
                (("on the device", OPTIONS[:-1]), ("mixed", OPTIONS)),
                (None, 3),
                ({"position": "learned"}, {"position": "rotary", "attention": "grouped-query"}),
            )
        )
    ],
)
def test_rows_that_join_and_leave_have_the_same_texts(settings, chunk, options, device):
    model = build_decoder(VOCABULARY, **settings).to(device)
    for schedule in range(6):
        plain, recorded = (texts(model, recorded, schedule, chunk, options) for recorded in (False, True))
        assert plain == recorded


@pytest.mark.parametrize("device", DEVICES)
def test_a_removed_row_leaves_the_sources_of_the_others(device):
    model = build_decoder(VOCABULARY, kind="encoder-decoder", position="sinusoidal").to(device)
    sources = torch.randint(0, VOCABULARY, (4, 8), generator=torch.Generator().manual_seed(0)).to(device)
    lengths = torch.tensor([8, 3, 5, 6], device=device)
    expected = continue_greedily(model.condition_on(sources, lengths), [[1], [2], [3], [4]], 12, CONTEXT)
    engine = GenerationEngine(model.condition_on(sources, lengths), CONTEXT, recorded=True)
    rows = engine.add_all([[1], [2], [3], [4]], Sampling(temperature=0))
    for step in range(12):
        engine.step()
        if step in (3, 6):
            engine.remove(rows[step // 4])
    assert [rows[2].tokens, rows[3].tokens] == expected[2:]
    assert [rows[0].tokens, rows[1].tokens] == [expected[0][:5], expected[1][:8]]


def test_a_model_with_hooks_is_not_recorded():
    model = build_decoder(VOCABULARY)
    calls = []
    model.embedding.register_forward_hook(lambda module, inputs, output: calls.append(1))
    engine = GenerationEngine(model, CONTEXT, recorded=True)
    engine.add_all([[1]], Sampling())
    for _ in range(3):
        engine.step()
    assert len(calls) == 3


def test_an_engine_without_rows_takes_new_ones():
    model = build_decoder(VOCABULARY)
    engine = GenerationEngine(model, CONTEXT, recorded=True)
    found = []
    for prompts in ([[1], [2, 3]], [[1]], [[1], [2, 3], [4], [5], [6]]):
        rows = engine.add_all(prompts, Sampling(seed=1))
        for _ in range(5):
            engine.step()
        found.append([row.generated[:5] for row in rows])
        for row in rows:
            engine.remove(row)
    assert found[0] == found[2][:2]
    assert found[1][0] == found[0][0]


def test_warming_up_leaves_no_rows_and_changes_no_text():
    model = build_decoder(VOCABULARY)
    found = []
    for most_rows, recorded in ((0, True), (5, True), (5, False)):
        engine = GenerationEngine(model, CONTEXT, recorded=recorded, most_rows=most_rows)
        engine.warm_up()
        assert not engine.rows
        rows = engine.add_all([[1], [2, 3], [4]], Sampling(seed=1))
        for _ in range(5):
            engine.step()
        found.append([row.generated[:5] for row in rows])
    assert found[0] == found[1] == found[2]
