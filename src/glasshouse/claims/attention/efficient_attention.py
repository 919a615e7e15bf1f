"""Claim: Linformer, Performer and a local window cost less than full attention on long input."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims import margins
from glasshouse.claims.attention import attention_costs
from glasshouse.claims.attention.attention_costs import CPU, CUDA, DEVICES, FUSED, LINFORMER, PERFORMER, PLAIN, WINDOW, Costs
from glasshouse.claims.attention.quick_overrides import QUICK
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, LineFigure, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import control, higher, lower, not_higher, zero

EFFICIENT = (WINDOW, LINFORMER, PERFORMER)
# The fused kernel's copy under another name: both must take the same time.
AGAIN = "fused-again"
LONG: Mapping[str, tuple[int, ...]] = {CPU: (1024, 2048, 4096, 8192), CUDA: (16384, 32768, 65536, 131072, 262144)}
# The lengths at which full attention by the plain path is measured too, where they fit.
PLAIN_LENGTHS: Mapping[str, tuple[int, ...]] = {CPU: (2048, 4096, 8192), CUDA: (16384, 32768)}
# A saving below 5 % is not worth a worse model.
COST_MARGIN = 0.05
EXPONENT_MARGIN = 0.2
ARMS = {FUSED: "dot-product", WINDOW: WINDOW, LINFORMER: LINFORMER, PERFORMER: PERFORMER}
# A window of one token: attention has nothing to attend to, so the loss must be higher.
ONE_TOKEN = "one-token"
RECIPE = (
    "masked-model",
    "data.source=state-of-the-union",
    "data.tokenizer=characters",
    "data.vocabulary=256",
    "data.context=256",
    "model.width=64",
    "model.layers=3",
    "training.learning_rate=3e-3",
)


class EfficientAttention(Claim):
    """Times the efficient attentions and full attention on long input, and trains each as a masked language model."""

    group = GROUPS[0]
    statement = "Linformer, Performer and a local window reach a lower cost than full attention on long input."
    source = "course work on attention"
    reported = "mentioned, no figures"
    why = (
        "Full attention compares all pairs of tokens. A window compares each token with its neighbours, Linformer with a "
        "fixed number of mixtures, and Performer sums over keys once for all queries: each linear in the length."
    )
    procedure = (
        "One attention of width 256 with 4 heads (window 128, rank 64, 64 features) runs forward and backward on one "
        "sequence, in float32 on a CPU and in bfloat16 on a GPU, in rounds over all kinds and lengths. At the longest "
        f"length ({LONG[CPU][-1]:,} tokens on the CPU, {LONG[CUDA][-1]:,} on the GPU) each must take less time than full "
        "attention by torch's fused kernel, the exponent of its time over the longest doubling must be lower, and it "
        "must need less memory than full attention by the plain path where that fits. The fused kernel is timed under two "
        "names. Beside it: memory against the fused kernel, and the test loss of masked language models over characters "
        "(context 256, a quarter of it as window, rank or features) that are otherwise the same, at tuned learning rates."
    )
    would_change = (
        "Shorter input: there the fused kernel is as fast. A task that needs distant tokens would change the quality beside "
        "the costs."
    )
    data = PUBLIC_TEXT
    looks = (16,)
    studies = (
        StudyPlan(
            "quality",
            (*ARMS, ONE_TOKEN),
            metric="test.loss",
            tune="training.learning_rate=1e-3,3e-3,1e-2",
            margin=margins.CHARACTER_LOSS,
            quick=(*(word for word in QUICK if not word.startswith("evaluation.stride")), "training.batch=4"),
            recipes={
                **{arm: (*RECIPE, f"model.attention={word}") for arm, word in ARMS.items()},
                ONE_TOKEN: (*RECIPE, "model.attention=local-window", "model.window=1"),
            },
        ),
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"exponent/{device}/{kind}": Quantity(f"exponent of the time, {kind}, {device}", "slope of log-log", per="round")
            for device in DEVICES
            for kind in (FUSED, *EFFICIENT)
        },
        **{
            f"time/{device}/{kind}": Quantity(
                f"time / that of full attention (fused), {LONG[device][-1]:,} tokens, {kind}, {device}", "ratio", per="round"
            )
            for device in DEVICES
            for kind in (*EFFICIENT, AGAIN)
        },
        **{
            f"memory/{device}/{kind}/{path}": Quantity(
                f"peak memory / that of full attention ({path}), {kind}, {device}", "ratio", per="trial"
            )
            for device in DEVICES
            for kind in EFFICIENT
            for path in (PLAIN, FUSED)
        },
        **{
            f"not-less/{device}/{path}": Quantity(
                f"kinds that do not need less memory than full attention ({path}) by {COST_MARGIN:.0%}, {device}",
                "bytes, counted",
                per="kind",
            )
            for device in DEVICES
            for path in (PLAIN, FUSED)
        },
        **{
            f"ms/{device}/{kind}/{length}": Quantity(
                f"time at {length:,} tokens, {kind}, {device}", "milliseconds", "ms", per="round"
            )
            for device in DEVICES
            for kind in (FUSED, *EFFICIENT)
            for length in LONG[device]
        },
        **{
            f"loss/{arm}": Quantity(f"test loss of masked characters, {arm}", "test.loss", "nats per character")
            for arm in (*ARMS, ONE_TOKEN)
        },
    }
    parts = (
        *(
            part
            for device in DEVICES
            for kind in EFFICIENT
            for part in (
                lower(
                    f"time/{device}/{kind}",
                    than=1.0,
                    margin=COST_MARGIN,
                    name=f"{device}: {kind} takes less time at {LONG[device][-1]:,} tokens",
                    setting=device,
                ),
                lower(
                    f"exponent/{device}/{kind}",
                    than=f"exponent/{device}/{FUSED}",
                    margin=EXPONENT_MARGIN,
                    name=f"{device}: the time of {kind} grows by a lower exponent",
                    setting=device,
                ),
            )
        ),
        *(
            zero(
                f"not-less/{device}/{path}",
                name=f"{device}: all three need less memory than full attention ({path})",
                setting=device,
                decides=path == PLAIN,
            )
            for device in DEVICES
            for path in (PLAIN, FUSED)
        ),
        *(
            control(
                f"time/{device}/{AGAIN}",
                to=1.0,
                margin=COST_MARGIN,
                name=f"{device}: control: the fused kernel under two names takes the same time",
                setting=device,
                decides=False,
            )
            for device in DEVICES
        ),
        *(
            not_higher(
                f"loss/{kind}",
                than=f"loss/{FUSED}",
                margin=margins.CHARACTER_LOSS,
                name=f"{kind} predicts masked characters as well as full attention",
                decides=False,
            )
            for kind in EFFICIENT
        ),
        higher(
            f"loss/{ONE_TOKEN}",
            than=f"loss/{FUSED}",
            margin=margins.CHARACTER_LOSS,
            name="control: worse if attention sees one token",
            decides=False,
        ),
    )
    figures = tuple(
        LineFigure(
            f"time-{device}",
            "tokens",
            f"milliseconds on a {'CPU' if device == CPU else 'GPU'}",
            {kind: {n: f"ms/{device}/{kind}/{n}" for n in LONG[device]} for kind in (FUSED, *EFFICIENT)},
        )
        for device in DEVICES
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        for device in filter(attention_costs.present, DEVICES):
            lengths = {PLAIN: PLAIN_LENGTHS[device]} | dict.fromkeys((FUSED, AGAIN, *EFFICIENT), LONG[device])
            series |= cost_series(device, attention_costs.measure(bench, device, lengths))
        study = bench.study("quality")
        series |= {f"loss/{arm}": bench.values(study, arm, "test.loss") for arm in (*ARMS, ONE_TOKEN)}
        return Measurements(series, tuple(bench.facts(study)))


def cost_series(device: str, costs: Mapping[str, Costs]) -> dict[str, Series]:
    """The series of the costs that were measured on a device."""
    series: dict[str, Series] = {}
    fused = costs[FUSED]
    longest = max(fused.seconds)
    for kind in (FUSED, *EFFICIENT):
        series[f"exponent/{device}/{kind}"] = attention_costs.time_exponents(costs[kind])
        for length in set(LONG[device]) & set(costs[kind].seconds):
            series[f"ms/{device}/{kind}/{length}"] = attention_costs.milliseconds(costs[kind], length)
    for kind in (*EFFICIENT, AGAIN):
        rounds = enumerate(zip(costs[kind].seconds[longest], fused.seconds[longest], strict=True))
        series[f"time/{device}/{kind}"] = Series({number: seconds / full for number, (seconds, full) in rounds})
    for path in (PLAIN, FUSED):
        if not costs[path].seconds:
            continue  # the plain path fits at none of its lengths
        length = max(costs[path].seconds)
        ratios = [costs[kind].peak_bytes[length] / costs[path].peak_bytes[length] for kind in EFFICIENT]
        series |= {
            f"memory/{device}/{kind}/{path}": Series({0: ratio}) for kind, ratio in zip(EFFICIENT, ratios, strict=True)
        }
        # Peak memory is counted and has no noise, so it is judged without statistics.
        not_less = {number: float(ratio > 1 - COST_MARGIN) for number, ratio in enumerate(ratios)}
        series[f"not-less/{device}/{path}"] = Series(not_less)
    return series
