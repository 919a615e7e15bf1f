"""Certificates: ways to the same result that must agree, each tried on one run, with the largest difference found."""

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.certificates.random_task import RandomTask
from glasshouse.interop import round_trips
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.records import checkpoint
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import CannotExport, GlasshouseError, MissingExtra
from glasshouse.specs.spec import Spec
from glasshouse.training.engine import Engine

# Of the largest logit: what float32 arithmetic in another order, and what bfloat16, may cost.
ROUNDING = 1e-4
COARSE = 5e-2
# Tokens and rows of the made-up inputs: enough to pass every kind of chunk, little enough for a laptop.
LENGTH = 48
ROWS = 4


class DoesNotApply(Exception):
    """A check that has no meaning for this model, and why."""


@dataclass(frozen=True)
class Check:
    """One way against another. `difference` is None where the check does not apply, and `note` says why."""

    name: str
    difference: float | None
    tolerance: float | None
    note: str = ""

    @property
    def passed(self) -> bool | None:
        if self.difference is None or self.tolerance is None:
            return None
        return self.difference <= self.tolerance

    @property
    def verdict(self) -> str:
        return {True: "pass", False: "FAIL", None: "n/a"}[self.passed]


@dataclass(frozen=True)
class CertifiedRun:
    """What the checks work on: a run, its model in evaluation mode, and made-up inputs."""

    run: Run
    model: Any
    inputs: dict[str, Tensor]

    @property
    def spec(self) -> Spec:
        return self.run.spec

    def answer(self, model: Any = None, rows: slice = slice(None)) -> Tensor:
        """The model's output for some rows."""
        chosen = self.model if model is None else model
        with torch.inference_mode():
            return chosen(**{name: value[rows] for name, value in self.inputs.items()}).float()


def certify(run: Run, progress: Callable[[float, str], None] = lambda share, what: None) -> Iterator[Check]:
    """Every check in turn."""
    model: Any = run.model
    length = min(LENGTH, run.spec.data.context)
    inputs = model.example(ROWS, length, torch.Generator().manual_seed(0))
    bench = CertifiedRun(run, model, {name: value.to(run.device) for name, value in inputs.items()})
    for index, (name, check) in enumerate(CHECKS.items()):
        progress(index / len(CHECKS), name)
        try:
            with warnings.catch_warnings():
                # A processor without bfloat16 says so at length; transformers says what it leaves to its own choice.
                warnings.simplefilter("ignore")
                found = replace(check(bench), name=name)
        except DoesNotApply as reason:
            found = Check(name, None, None, str(reason))
        except GlasshouseError as error:
            found = Check(name, float("inf"), 0.0, str(error))
        yield found
    progress(1.0, "done")


def _compared(one: Tensor, two: Tensor, share: float = ROUNDING, note: str = "") -> Check:
    largest = max(float(two.abs().max()), 1.0)
    return Check("", float((one - two).abs().max()), share * largest, note)


def _cache(bench: CertifiedRun) -> Check:
    model, inputs = bench.model, bench.inputs
    if isinstance(model, EncoderDecoder):
        with torch.inference_mode():
            reader: Any = model.given(inputs["source_BS"])
        tokens = inputs["target_BT"]
    elif hasattr(model, "empty_cache") and bench.run.continues_text:
        reader, tokens = model, inputs["tokens_BT"]
    else:
        raise DoesNotApply("it does not continue a text, so it keeps no cache")
    pieces, start, length = [], 0, tokens.shape[1]
    with torch.inference_mode():
        cache = reader.empty_cache(len(tokens), length)
        while start < length:
            end = min(length, start + (length // 3 if start == 0 else 1) or 1)
            positions = torch.arange(start, end, device=tokens.device).expand(len(tokens), -1)
            pieces.append(reader.project(reader.features(tokens[:, start:end], positions, cache)).float())
            start = end
    return _compared(torch.cat(pieces, 1), bench.answer(), note=f"{length} tokens, a third at once, then one by one")


def _batch_size(bench: CertifiedRun) -> Check:
    together = bench.answer()
    alone = [bench.answer(rows=slice(row, row + 1)) for row in range(ROWS)]
    if isinstance(bench.model, DualEncoder):  # every text meets every picture: the pairs are on the diagonal
        return _compared(torch.cat([one.flatten() for one in alone]), together.diagonal(), note=f"{ROWS} pairs, each alone")
    return _compared(torch.cat(alone), together, note=f"{ROWS} rows, each alone")


def _accumulation(bench: CertifiedRun) -> Check:
    if isinstance(bench.model, DualEncoder):
        raise DoesNotApply(
            "each text is compared with every picture of its batch, so parts of a batch do not add up to it",
        )
    _no_batch_norm(bench)
    gradients = []
    for parts in (1, 2, ROWS):
        engine = _engine(bench, accumulation=parts)
        engine.gradients(0, engine.batch(0))
        gradients.append(torch.cat([p.grad.flatten() for p in engine.model.parameters() if p.grad is not None]))
    largest = float(gradients[0].abs().max())
    difference = max(float((other - gradients[0]).abs().max()) for other in gradients[1:])
    return Check("", difference, ROUNDING * max(largest, 1e-3), f"gradients of {ROWS} rows, in 2 and in {ROWS} parts")


def _compiled(bench: CertifiedRun) -> Check:
    compiled = torch.compile(copy.deepcopy(bench.model))
    try:
        return _compared(bench.answer(compiled), bench.answer(), note="torch.compile")
    except Exception as error:
        first = f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}"
        if "CxxCompiler" in first or "C++ compiler" in str(error):
            raise DoesNotApply(f"torch.compile needs a C++ compiler, and this machine has none: {first}") from None
        if type(error).__module__.startswith("torch._"):
            return Check("", float("inf"), 0.0, f"torch.compile failed: {first}")
        raise


def _coarse(bench: CertifiedRun) -> Check:
    few = slice(0, 1)  # a processor without bfloat16 emulates it, very slowly
    with torch.autocast(bench.run.device.type, torch.bfloat16):
        coarse = bench.answer(rows=few)
    return _compared(coarse, bench.answer(rows=few), COARSE, "autocast, 1 row")


def _resumed(bench: CertifiedRun) -> Check:
    straight = _engine(bench)
    for step in range(4):
        straight.step(step)
    stopped = _engine(bench)
    for step in range(2):
        stopped.step(step)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.save(Path(folder), Checkpoint(2, stopped.groups(), {}))
        resumed = _engine(bench)
        resumed.restore(checkpoint.load(Path(folder), 2))
    for step in range(2, 4):
        resumed.step(step)
    pairs = zip(straight.model.state_dict().values(), resumed.model.state_dict().values(), strict=True)
    difference = max(float((one.float() - two.float()).abs().max()) for one, two in pairs)
    exact = bench.run.device.type == "cpu"
    return Check("", difference, 0.0 if exact else ROUNDING, "4 steps against 2, a checkpoint, and 2 more")


def _huggingface(bench: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        ours, *others = _or_not(lambda: round_trips.through_transformers(bench.run, bench.inputs, Path(folder) / "model"))
    both = torch.stack(others)
    return _compared(both, ours.expand_as(both), note="exported, run by transformers, and imported again")


def _gguf(bench: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        ours, again = _or_not(lambda: round_trips.through_gguf(bench.run, bench.inputs, Path(folder) / "model.gguf"))
    return _compared(again, ours, note="exported and imported again")


def _llama_cpp(bench: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        wrong, total = _or_not(lambda: round_trips.through_llama_cpp(bench.run, Path(folder) / "model.gguf"))
    return Check("", float(wrong), 0.0, f"tokens of {total} that llama.cpp chooses otherwise, greedily, after 5 prompts")


CHECKS: dict[str, Callable[[CertifiedRun], Check]] = {
    "cache against full": _cache,
    "batch size": _batch_size,
    "gradient accumulation": _accumulation,
    "compiled against eager": _compiled,
    "fp32 against bf16": _coarse,
    "resumed against uninterrupted": _resumed,
    "Hugging Face round trip": _huggingface,
    "GGUF round trip": _gguf,
    "llama.cpp, greedy": _llama_cpp,
}


def _or_not(work: Callable[[], Any]) -> Any:
    """The result, or the reason why a run cannot go where it was to go. What goes wrong on the way is a failure."""
    try:
        return work()
    except (CannotExport, MissingExtra) as error:
        raise DoesNotApply(str(error)) from None


def _no_batch_norm(bench: CertifiedRun) -> None:
    for module in bench.model.modules():
        if reason := getattr(module, "unsupported", {}).get("batch"):
            raise DoesNotApply(f"{type(module).__name__}: {reason}")


def _engine(bench: CertifiedRun, accumulation: int = 1) -> Engine:
    """A new engine with the run's weights and a rehearsal to train on, without dropout."""
    model: nn.Module = copy.deepcopy(bench.model)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0  # type: ignore[assignment]
    training = replace(
        bench.spec.training,
        batch=ROWS,
        gradient_accumulation=accumulation,
        compile=False,
        precision="fp32",
        learning_rate=1e-3,
        freeze="none",
        lora_rank=0,
    )
    catalogue.check("optimiser", training.optimiser, "training.optimiser")
    task: Any = RandomTask(bench.model, min(LENGTH, bench.spec.data.context))
    return Engine(replace(bench.spec, training=training), 4, task, model, None, bench.run.device)  # type: ignore[arg-type]
