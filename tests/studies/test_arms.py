"""Arms from command-line words: commas, brackets, ranges and grids, the names of arms, and what is refused."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as rules
from hypothesis import strategies as st

from glasshouse.specs import spec_fields
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import ModelSpec
from glasshouse.studies import arms
from tests.refusals import refused

POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "none", "relative")


def names(*words: str) -> list[str]:
    return [variant.name for variant in arms.expand(arms.parse(("demo-lm", *words)))]


@rules(max_examples=20)
@given(
    positions=st.lists(st.sampled_from(POSITIONS), min_size=1, max_size=4, unique=True),
    layers=st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    rates=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=4, unique=True),
)
def test_a_grid_is_every_combination(positions: list[str], layers: list[int], rates: list[float]) -> None:
    values_by_field = {
        "model.position": positions,
        "model.layers": [str(n) for n in layers],
        "training.learning_rate": [repr(rate) for rate in rates],
    }
    words = ["demo-lm", *(f"{field}={','.join(values)}" for field, values in values_by_field.items())]
    count = len(positions) * len(layers) * len(rates)
    if count == 1:
        with refused(SpecError):
            arms.parse(words)
        return
    variants = arms.expand(arms.parse(words))
    expected = [
        (position, n, rate) for position in positions for n in layers for rate in rates
    ]  # the first field varies slowest
    assert [(v.spec.model.position, v.spec.model.layers, v.spec.training.learning_rate) for v in variants] == expected
    varied = {field for field, values in values_by_field.items() if len(values) > 1}
    assert all(set(variant.changes) == varied for variant in variants)
    assert len({variant.name for variant in variants}) == len({variant.folder for variant in variants}) == count
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", variant.folder) for variant in variants)


@rules(max_examples=60)
@given(lists=st.lists(st.lists(st.from_regex(r"[a-z]{1,5}\.txt", fullmatch=True), max_size=4), min_size=1, max_size=5))
def test_commas_inside_brackets_belong_to_a_list(lists: list[list[str]]) -> None:
    texts = [f"[{','.join(items)}]" for items in lists]
    if len(set(map(tuple, lists))) < len(lists):
        with refused(SpecError):
            arms.parse_values("data.files", ",".join(texts))
    else:
        assert list(arms.parse_values("data.files", " , ".join(texts))) == texts


@rules(max_examples=60)
@given(low=st.floats(1e-8, 1e3), ratio=st.floats(1.5, 1e6), count=st.integers(2, 60))
def test_a_logarithmic_range(low: float, ratio: float, count: int) -> None:
    first, last = f"{low:.3g}", f"{low * ratio:.3g}"
    values = arms.parse_values("training.learning_rate", f"{first}..{last}:log:{count}")
    assert len(values) == count
    assert (float(values[0]), float(values[-1])) == (float(first), float(last))
    powers = "e" in first + last
    assert {"e" in value for value in values} == {powers}
    numbers = list(map(float, values))
    assert numbers == sorted(set(numbers))
    step = math.log(numbers[-1] / numbers[0]) / (count - 1)
    # Rounding to few digits moves a value by less than half a step.
    assert all(abs(math.log(number / numbers[0]) - place * step) < step / 2 for place, number in enumerate(numbers))


def test_ranges() -> None:
    assert arms.parse_values("model.dropout", "0..0.5:lin:6") == ("0", "0.1", "0.2", "0.3", "0.4", "0.5")
    assert arms.parse_values("model.layers", "1..8") == tuple("12345678")
    assert arms.parse_values("model.width", "16..128:log:4") == ("16", "32", "64", "128")
    assert arms.parse_values("training.learning_rate", "1e-4..1e-2:log:3,0.5") == ("1e-4", "1e-3", "1e-2", "0.5")
    assert arms.parse_values("training.learning_rate", "0.001..1e-1:log:3") == ("1e-3", "1e-2", "1e-1")
    assert arms.parse_values("training.learning_rate", "0.00001..0.001:log:3") == ("0.00001", "0.0001", "0.001")
    assert arms.parse_values("training.learning_rate", "1e-4..1e-2:log:4") == ("1e-4", "4.64e-4", "2.15e-3", "1e-2")
    assert arms.parse_values("training.weight_decay", "0..1e-1:lin:3") == ("0", "5e-2", "1e-1")
    # A list is written as it was typed.
    assert arms.parse_values("training.learning_rate", "1e-3,0.01,1e-1") == ("1e-3", "0.01", "1e-1")
    # The value of a text field is never read as a range.
    assert arms.parse_values("data.files", "../1..2,../b.txt") == ("../1..2", "../b.txt")


@rules(max_examples=200)
@given(text=st.text('0123456789.,:eE+-[]"loginab ', max_size=20), field=st.sampled_from(["model.layers", "model.position"]))
def test_any_text_is_read_or_refused(text: str, field: str) -> None:
    try:
        values = arms.parse_values(field, text)
    except SpecError:
        return
    assert 1 <= len(values) <= arms.MAX_ARMS * max(text.count(",") + 1, 1)
    kind = spec_fields.fields(ModelSpec)[field.split(".")[1]][0]
    if len(values) > 1:
        parsed = [spec_fields.from_text(kind, value, field) for value in values]
        assert len(parsed) == len(set(parsed))


def test_names_are_short_and_clear() -> None:
    assert names("model.position=learned,alibi", "model.width=32") == ["learned", "alibi"]
    assert names("model.position=learned,alibi", "model.width=32,64") == [
        "position=learned, width=32",
        "position=learned, width=64",
        "position=alibi, width=32",
        "position=alibi, width=64",
    ]
    assert names("data.tokenizer=words,characters", "model.kind=decoder")[0] == "words"


def test_fields_with_the_same_last_word_keep_their_dotted_names() -> None:
    variants = arms.expand(arms.parse(("presidents", "model.norm=layer,rms", "model.head.norm=none,layer")))
    assert variants[0].name == "model.norm=layer, model.head.norm=none"


def test_names_of_other_programs_vary_their_field() -> None:
    grid = arms.parse(["demo-lm", "lr=1e-4..1e-2:log:3", "n_layer=2"])
    assert list(grid.varied) == ["training.learning_rate"]
    assert grid.fixed == ("model.layers=2",)


def test_recipes_are_arms() -> None:
    variants = arms.expand(arms.parse(("demo-lm", "characters", "training.steps=7")))
    assert [variant.name for variant in variants] == ["demo-lm", "characters"]
    assert [variant.changes for variant in variants] == [{}, {}]
    assert [variant.spec.training.steps for variant in variants] == [7, 7]
    crossed = arms.expand(arms.parse(("demo-lm", "characters", "model.norm=layer,none")))
    assert [variant.name for variant in crossed][:2] == ["demo-lm, norm=layer", "demo-lm, norm=none"]
    assert len(crossed) == 4


def test_a_spec_file_is_a_recipe_even_with_an_equals_sign(tmp_path: Path) -> None:
    for name in ("a=b.toml", "c.toml"):
        Path(name).write_text('[data]\nsource = "state-of-the-union"\n[training]\nsteps = 3\n')
    grid = arms.parse(("a=b.toml", "c.toml", "model.norm=layer"))
    assert grid.recipes == ("a=b.toml", "c.toml")
    with refused(SpecError, "'a=b'", "'c'"):
        arms.expand(grid)


def test_folder_names_differ_even_if_case_is_ignored() -> None:
    variants = arms.expand(arms.parse(("language-model", "data.files=A.txt,a.txt,[a.txt,b.txt],report.html")))
    folders = [variant.folder for variant in variants]
    assert folders == ["A.txt", "a.txt-2", "a.txt-b.txt", "report.html-2"]


def test_an_empty_value_is_written_with_quotes() -> None:
    assert arms.parse_values("training.start_from", '"",demo-lm') == ("", "demo-lm")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), (GlasshouseError,)),
        (("demo-lm",), (SpecError,)),
        (("demo-lm", "model.position=learned"), (SpecError, "model.position=learned")),
        (("demo-lm", "demo-lm"), (SpecError, "'demo-lm'")),
        (("demo-lm", "model.norm=layer,layer"), (SpecError,)),
        (("demo-lm", "training.learning_rate=1e-3,0.001"), (SpecError,)),
        (("demo-lm", "model.norm=layer,,rms"), (SpecError,)),
        (("demo-lm", "model.norm=layer,"), (SpecError,)),
        (("demo-lm", "model.norm=layer,rms", "model.norm=none"), (SpecError,)),
        (("demo-lm", "data.files=[a,b"), (SpecError,)),
        (("demo-lm", "data.files=a],[b"), (SpecError,)),
        (("demo-lm", "training.seed=1,2"), (SpecError, "--seeds")),
        (("demo-lm", "training.seed=1", "model.norm=layer,rms"), (SpecError, "--seeds")),
        (("demo-lm", "training.replicas=4", "model.norm=layer,rms"), (SpecError, "--seeds")),
        (("demo-lm", "task=classify,match"), (SpecError,)),
        (("demo-lm", "model.layers=1..8", "model.width=32..320:lin:73"), (SpecError, "584", "200")),
        (("demo-lm", "model.layers=1..900"), (SpecError, "900")),
        (("demo-lm", "training.learning_rate=1e-4..1e-2"), (SpecError,)),
        (("demo-lm", "training.learning_rate=0..1:log:3"), (SpecError,)),
        (("demo-lm", "training.learning_rate=1..0.1:lin:3"), (SpecError,)),
        (("demo-lm", "training.learning_rate=1..2:log:1"), (SpecError,)),
        (("demo-lm", "training.learning_rate=1..2:cubic:3"), (SpecError,)),
        (("demo-lm", "training.learning_rate=1..1e999:lin:3"), (SpecError,)),
        (("demo-lm", "model.layers=1..3:lin:9"), (SpecError,)),
        (("demo-lm", "model.position=learned,rotari"), (GlasshouseError, "'rotary'")),
        (("demo-lm", "model.positron=learned,rotary"), (GlasshouseError, "'model.positron'")),
        (("demo-lm", "position=learned,rotary"), (GlasshouseError, "'model.position'")),
        (("demo-lm", "model.heads=2,3"), (SpecError,)),
        (("demo-lm", "model.layers=two,3"), (GlasshouseError,)),
        (("demo-ml", "model.norm=layer,rms"), (SpecError, "'demo-ml'")),
        (("nowhere.toml", "model.norm=layer,rms"), (SpecError,)),
    ],
)
def test_impossible_words_are_refused(words: tuple[str, ...], error: tuple[str, ...]) -> None:
    with refused(*error) as caught:
        arms.expand(arms.parse(words))
    assert "\n" not in str(caught.value)


def test_seeds() -> None:
    assert arms.parse_seeds("8") == arms.parse_seeds(8) == tuple(range(8))
    assert arms.parse_seeds("3,5,9") == arms.parse_seeds([3, 5, 9]) == (3, 5, 9)


@pytest.mark.parametrize(
    ("seeds", "error"),
    [
        ("1", (SpecError,)),
        (1, (SpecError,)),
        ("0", (SpecError,)),
        ("7,", (SpecError,)),
        ([4], (SpecError,)),
        ("3,3", (SpecError,)),
        ("many", (SpecError,)),
        ("-2", (SpecError,)),
        ("2.5", (SpecError,)),
        ("", (SpecError,)),
        ("²", (SpecError,)),
        ("1,2147483648", (SpecError,)),
        ("5000", (SpecError, "1000")),
    ],
)
def test_impossible_seeds_are_refused(seeds: object, error: tuple[str, ...]) -> None:
    with refused(*error):
        arms.parse_seeds(seeds)
