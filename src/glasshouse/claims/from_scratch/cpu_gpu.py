"""Claim: 50 training steps of a small GPT take 11.6 times as long on a CPU as on a GPU."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from glasshouse.claims import step_profile
from glasshouse.claims.claim import GROUPS, PUBLIC_TEXT, Bench, Claim, Measurements, Quantity, Series, StudyPlan
from glasshouse.claims.rules import equal, higher
from glasshouse.claims.step_timing import Timing, build_medians
from glasshouse.data import prepared_data
from glasshouse.models import parameter_counts
from glasshouse.runs import resolve_spec
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers.base import END_OF_TEXT
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.training import devices
from glasshouse.training.job import Job

STEPS = 50
REPORTED = {"cpu": 137.67, "gpu": 11.85}
REPORTED_RATIO = REPORTED["cpu"] / REPORTED["gpu"]
# Half of the reported ratio: machines differ by more than that within a few years.
RATIO_MARGIN = REPORTED_RATIO / 2
GAIN_MARGIN = 0.1
# WikiText-2 gives 47,612 tokens. The rest are never used, so that the model has the vocabulary of GPT-2.
VOCABULARY, UNUSED = 50257, 3000
QUICK_VOCABULARY, QUICK_UNUSED = 500, 200
SOURCE = "wikitext-2"
MODEL = (
    "gpt-2",
    f"data.source={SOURCE}",
    "data.tokenizer_file={tokenizer}",
    "data.context=32",
    "model.layers=3",
    "model.heads=3",
    "model.width=48",
    "model.dropout=0.1",
    "model.tied=false",
    "training.batch=256",
    "training.compile=false",
)
QUICK = ("training.batch=4", "data.context=16", "training.threads=1")
PLAIN, GRAPH = "false", "true"
GRAPHS = f"training.cuda_graph={PLAIN},{GRAPH}"
CPU, GPU, BF16 = "cpu", "gpu", "gpu-bf16"
# On a CPU a step takes up to a second, and both arms are the same.
TIMINGS = {CPU: Timing(rounds=2, steps=1, builds=8), GPU: Timing(rounds=6, builds=8), BF16: Timing(rounds=6, builds=8)}
# What is timed -> its study and arm.
TIMED = {
    "cpu": (CPU, PLAIN),
    "gpu": (GPU, PLAIN),
    "graph": (GPU, GRAPH),
    "bf16": (BF16, PLAIN),
    "bf16-graph": (BF16, GRAPH),
}
LABELS = {
    "cpu": "on the CPU, float32",
    "gpu": "on the GPU, float32",
    "graph": "on the GPU, float32, as a CUDA graph",
    "bf16": "on the GPU, bfloat16",
    "bf16-graph": "on the GPU, bfloat16, as a CUDA graph",
}
# Gain -> (slower, faster).
GAINS = {
    "graph": ("gpu", "graph"),
    "bf16": ("gpu", "bf16"),
    "bf16-graph": ("gpu", "bf16-graph"),
}


class CPUAgainstGPU(Claim):
    """Times steps of a GPT of width 48 with GPT-2's vocabulary on the CPU and on the GPU of one machine."""

    group = GROUPS[3]
    statement = "50 training steps of a small GPT take 11.6 times as long on a CPU as on a GPU."
    source = "course work on language models: the GPT assignment, machines not named"
    reported = f"{REPORTED['cpu']:g} s on a CPU, {REPORTED['gpu']:g} s on a GPU"
    why = "A GPU has many more arithmetic units and a faster memory. A small model may be too small to use them."
    procedure = (
        "The smallest model of the course's skeleton (3 layers, 3 heads, width 48, 32 tokens, batch 256, AdamW) is trained "
        "on WikiText-2 with a byte-pair vocabulary of 50,257, of which 3,000 never occur. Steps are timed in float32 on the "
        "CPU, with one thread or all of them, whichever is faster, and on the GPU of the same machine, where each "
        "operation is launched by itself. The models are built anew eight times, and the median over the rounds of a "
        f"build is one value. The times are those of {STEPS} such steps; start-up, the preparation of the text and "
        "evaluations are not included. The GPU must be faster, and the ratio must be within half of the reported one. "
        "Beside it: what a CUDA graph and bfloat16 add, and where the time goes."
    )
    would_change = (
        "Another CPU or GPU: the ratio is one of two machines, and the verdict holds for those that the page names. The "
        "reported times may include start-up and data loading, which would bring them closer to each other."
    )
    data = PUBLIC_TEXT
    needs = (SOURCE,)
    looks = (8,)
    studies = tuple(
        StudyPlan(
            name,
            (*MODEL, f"training.precision={'bf16' if name == BF16 else 'fp32'}", GRAPHS),
            quick=QUICK,
            timed_only=True,
            timing=timing,
        )
        for name, timing in TIMINGS.items()
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "ratio": Quantity(
            "time on the CPU over time on the GPU",
            "step time",
            "times",
            higher_is_better=True,
            reported=f"{REPORTED_RATIO:.1f}",
            per="build",
        ),
        **{
            f"seconds/{name}": Quantity(
                f"time of {STEPS} steps, {label}",
                "step time",
                "s",
                reported=f"{REPORTED[name]:g}" if name in REPORTED else "",
                per="build",
            )
            for name, label in LABELS.items()
        },
        **{
            f"gain/{name}": Quantity(
                f"time {LABELS[slow]}, over time {LABELS[fast]}", "step time", "times", higher_is_better=True, per="build"
            )
            for name, (slow, fast) in GAINS.items()
        },
        **{
            f"share/{device}/{kind}": Quantity(
                f"share of a step on the {device.upper()}, float32: {kind}", "profile", "%", 100.0, per=""
            )
            for device in REPORTED
            for kind in step_profile.KINDS
            if (device, kind) != ("cpu", step_profile.IDLE)
        },
    }
    parts = (
        higher("ratio", than=1.0, margin=GAIN_MARGIN, name="the GPU is faster"),
        equal("ratio", to=REPORTED_RATIO, margin=RATIO_MARGIN, name="it is 11.6 times as fast"),
        higher("gain/graph", than=1.0, margin=GAIN_MARGIN, name="a CUDA graph makes steps faster", decides=False),
        higher("gain/bf16", than=1.0, margin=GAIN_MARGIN, name="bfloat16 makes steps faster", decides=False),
    )

    def obstacle(self, device: str, quick: bool) -> str:
        if quick or devices.pick(device).type == "cuda":
            return ""
        return "the claim cpu-gpu compares the CPU with a CUDA device, and this machine has none; run it where there is one"

    def measure(self, bench: Bench) -> Measurements:
        on_gpu = devices.pick(bench.device).type == "cuda"
        tokenizer = write_tokenizer(bench)
        seconds: dict[str, list[float]] = {}
        series: dict[str, Series] = {}
        for name, (study, arm) in TIMED.items():
            if study == CPU or on_gpu:
                timing = TIMINGS[study].quick if bench.quick else TIMINGS[study]
                timed = replace(bench, device="cpu" if study == CPU else bench.device)
                times = timed.step_seconds(study, tokenizer=tokenizer)
                seconds[name] = build_medians(times[arm], timing.builds)
                series[f"seconds/{name}"] = Series(dict(enumerate(STEPS * time for time in seconds[name])))
        for device in REPORTED if on_gpu else ("cpu",):
            words = [word for word in bench.words(CPU, tokenizer=tokenizer) if word != GRAPHS]
            job = prepare([*words, f"training.cuda_graph={PLAIN}"], "cpu" if device == "cpu" else bench.device)
            shares = bench.cached(f"shares-{device}", partial(profile_job, job))
            keys = {kind: f"share/{device}/{kind}" for kind in shares}
            series |= {key: Series({0: shares[kind]}) for kind, key in keys.items() if key in self.quantities}
        if on_gpu:
            series["ratio"] = ratios(seconds["cpu"], seconds["gpu"])
            series |= {f"gain/{name}": ratios(seconds[slow], seconds[fast]) for name, (slow, fast) in GAINS.items()}
        return Measurements(series, tuple(describe(job)))


def prepare(words: Sequence[str], device: str) -> Job:
    """The job of a recipe and overrides."""
    return Job.prepare(resolve_spec.spec_of(*words), devices.pick(device))


def profile_job(job: Job) -> dict[str, float]:
    """Where the time of a step of a new model goes."""
    return step_profile.profile_steps(job.engine())


def write_tokenizer(bench: Bench) -> str:
    """The path of a byte-pair tokenizer of the trial's vocabulary, trained on the training text."""
    path: Path = bench.folder / "tokenizer.json"
    if not path.exists():
        source = prepared_data.find_source(DataSpec(source=SOURCE))
        vocabulary, unused = (QUICK_VOCABULARY, QUICK_UNUSED) if bench.quick else (VOCABULARY, UNUSED)
        specials = (END_OF_TEXT, *(f"<|unused-{number}|>" for number in range(unused)))
        BytePair.train((document.text for document in source.documents("train")), vocabulary, specials=specials).save(path)
    return str(path.absolute())


def describe(job: Job) -> list[tuple[str, str]]:
    """Facts of the model: its parameters, and the share of the head in its FLOPs."""
    model, context = job.model(), job.spec.data.context
    parameters = parameter_counts.parameters(model)
    head = 2 * job.spec.model.width * job.prepared.tokenizer.vocabulary * context
    flops = model.flops(context)
    return [
        ("parameters", f"{parameters:,}"),
        ("FLOPs of a forward pass in the projection onto the vocabulary", f"{head / flops:.0%}"),
    ]


def ratios(slow: Sequence[float], fast: Sequence[float]) -> Series:
    """Build -> how many times as long the first takes as the second."""
    return Series({build: one / other for build, (one, other) in enumerate(zip(slow, fast, strict=True))})
