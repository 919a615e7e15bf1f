"""The checks of a certificate: each computes a result of one run in two ways and reports the largest difference."""

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.certificates import round_trips
from glasshouse.data.batches import hash_of_integers
from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.sampling_options import Sampling
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.records import checkpoint
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.runs.run import Run
from glasshouse.specs import catalogue
from glasshouse.specs.errors import CannotExport, GlasshouseError, MissingExtra
from glasshouse.tasks.base import Batch, Forward
from glasshouse.training import precision
from glasshouse.training.engine import Engine

# Tolerances as shares of the largest logit: for float32 operations in another order, and for bfloat16.
ROUNDING = 1e-4
BFLOAT16 = 5e-2
# Tokens and rows of the random inputs: more than one chunk of every chunked attention, and few enough for a laptop.
LENGTH = 48
ROWS = 4
# Of the random task.
EXAMPLES = 64


class DoesNotApply(Exception):
    """Raised by a check that does not apply to a model; its message is the reason."""


@dataclass(frozen=True)
class Check:
    """The result of a check. If the check does not apply, `difference` is None and `note` says why."""

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
    """The subject of the checks: a run, its model in evaluation mode, and random inputs."""

    run: Run
    model: Any
    inputs: dict[str, Tensor]

    def output(self, model: Any = None, rows: slice = slice(None)) -> Tensor:
        """The output of the run's model, or of another model, for some rows of the inputs."""
        forward = self.model if model is None else model
        with torch.inference_mode():
            return forward(**{name: value[rows] for name, value in self.inputs.items()}).float()


def certify(run: Run, progress: Callable[[float, str], None] = lambda share, what: None) -> Iterator[Check]:
    """Run all checks, one after the other."""
    model: Any = run.model
    length = min(LENGTH, run.spec.data.context)
    inputs = model.random_inputs(ROWS, length, torch.Generator().manual_seed(0))
    subject = CertifiedRun(run, model, {name: value.to(run.device) for name, value in inputs.items()})
    for index, (name, check) in enumerate(CHECKS.items()):
        progress(index / len(CHECKS), name)
        try:
            with warnings.catch_warnings():
                # PyTorch warns if the CPU has no bfloat16, and transformers warns about its defaults.
                warnings.simplefilter("ignore")
                result = replace(check(subject), name=name)
        except (DoesNotApply, CannotExport, MissingExtra) as reason:
            result = Check(name, None, None, str(reason))
        except GlasshouseError as error:
            result = Check(name, float("inf"), 0.0, str(error))
        yield result
    progress(1.0, "done")


def _compare(actual: Tensor, expected: Tensor, tolerance: float = ROUNDING, note: str = "") -> Check:
    """The largest difference; the tolerance is relative to the largest expected value, or to 1 if that is larger."""
    largest = max(float(expected.abs().max()), 1.0)
    return Check("", float((actual - expected).abs().max()), tolerance * largest, note)


def _cache(subject: CertifiedRun) -> Check:
    model, inputs = subject.model, subject.inputs
    if isinstance(model, EncoderDecoder):
        with torch.inference_mode():
            decoder: Any = model.condition_on(inputs["source_BS"])
        tokens = inputs["target_BT"]
    elif model.keeps_cache and subject.run.continues_text:
        decoder, tokens = model, inputs["tokens_BT"]
    else:
        raise DoesNotApply("it does not continue a text, so it keeps no cache")
    chunks, start, length = [], 0, tokens.shape[1]
    with torch.inference_mode():
        cache = decoder.empty_cache(len(tokens), length)
        while start < length:
            end = min(length, start + (length // 3 if start == 0 else 1) or 1)
            positions = torch.arange(start, end, device=tokens.device).expand(len(tokens), -1)
            chunks.append(decoder.project(decoder.features(tokens[:, start:end], positions, cache)).float())
            start = end
    note = f"{length} tokens: the first third in one chunk, then one by one"
    return _compare(torch.cat(chunks, 1), subject.output(), note=note)


def _generation(subject: CertifiedRun) -> Check:
    """Log-probabilities of tokens that the engine samples, beside a full pass over the finished text."""
    model: Any = subject.model
    if "tokens_BT" not in subject.inputs or not model.keeps_cache or not subject.run.continues_text:
        raise DoesNotApply("it does not continue a text by itself")
    tokens = subject.inputs["tokens_BT"].tolist()
    length = len(tokens[0])
    engine = GenerationEngine(model, length, chunk=5)
    rows, found = [], []
    for number, prompt in enumerate(tokens):
        # A row joins while the others generate. The first one is greedy.
        sampling = Sampling(temperature=min(number, 1), seed=number)
        rows += engine.add_all([prompt[: max(length // 2 - number, 1)]], sampling)
        found += engine.step()
    while rows[-1].step < max(length // 4, 1):
        found += engine.step()
    values, expected = [], []
    for row in rows:
        choices = [sampled for other, sampled in found if other is row][: length + 1 - row.prompt_length]
        text = torch.tensor([row.tokens[: row.prompt_length + len(choices)]], device=subject.run.device)
        with torch.inference_mode():
            full = model(tokens_BT=text[:, :-1]).float().log_softmax(-1)[0, row.prompt_length - 1 :]
        expected.append(full.gather(1, text[0, row.prompt_length :, None])[:, 0])
        values += [choice.log_probability for choice in choices]
        if row is rows[0]:
            # A greedy token is the most likely one of the full pass too, but for a tie.
            behind = float((full.max(-1).values - expected[0]).max())
            if behind > ROUNDING * max(float(expected[0].abs().max()), 1.0):
                return Check("", behind, 0.0, "a greedy token is not the most likely one of a full pass")
    note = f"{len(values)} tokens of {len(rows)} rows that join one after the other"
    return _compare(torch.tensor(values), torch.cat(expected).cpu(), note=note)


def _batch_size(subject: CertifiedRun) -> Check:
    together = subject.output()
    alone = [subject.output(rows=slice(row, row + 1)) for row in range(ROWS)]
    if subject.model.head.predicts == "pairs":  # every text is compared with every picture: the pairs are on the diagonal
        pairs = torch.cat([similarity.flatten() for similarity in alone])
        return _compare(pairs, together.diagonal(), note=f"{ROWS} pairs, each alone")
    return _compare(torch.cat(alone), together, note=f"{ROWS} rows, each alone")


def _accumulation(subject: CertifiedRun) -> Check:
    if subject.model.head.predicts == "pairs":
        raise DoesNotApply("each text is compared with every picture of its batch, so micro-batches do not add up")
    for module in subject.model.modules():
        if reason := getattr(module, "unsupported", {}).get("batch"):
            raise DoesNotApply(f"{type(module).__name__}: {reason}")
    gradients = []
    for micro_batches in (1, 2, ROWS):
        engine = _engine(subject, micro_batches)
        engine.gradients(0, engine.batch(0))
        gradients.append(torch.cat([p.grad.flatten() for p in engine.model.parameters() if p.grad is not None]))
    largest = float(gradients[0].abs().max())
    difference = max(float((other - gradients[0]).abs().max()) for other in gradients[1:])
    return Check("", difference, ROUNDING * max(largest, 1e-3), f"gradients of {ROWS} rows, in 2 and {ROWS} micro-batches")


def _compiled(subject: CertifiedRun) -> Check:
    compiled = torch.compile(copy.deepcopy(subject.model))
    try:
        return _compare(subject.output(compiled), subject.output(), note="torch.compile")
    except Exception as error:
        first_line = f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}"
        if "CxxCompiler" in first_line or "C++ compiler" in str(error):
            raise DoesNotApply(f"torch.compile needs a C++ compiler, and this machine has none: {first_line}") from None
        if type(error).__module__.startswith("torch._"):
            return Check("", float("inf"), 0.0, f"torch.compile failed: {first_line}")
        raise


def _bfloat16(subject: CertifiedRun) -> Check:
    row = slice(0, 1)  # one row, because a CPU without bfloat16 emulates it very slowly
    try:
        with torch.autocast(subject.run.device.type, torch.bfloat16):
            output = subject.output(rows=row)
    except RuntimeError as error:
        if not precision.is_unsupported(error):
            raise
        raise DoesNotApply(f"this machine cannot compute it: {error}") from None
    return _compare(output, subject.output(rows=row), BFLOAT16, "autocast, 1 row")


def _resumed(subject: CertifiedRun) -> Check:
    uninterrupted = _engine(subject)
    for step in range(4):
        uninterrupted.step(step)
    stopped = _engine(subject)
    for step in range(2):
        stopped.step(step)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.save(Path(folder), Checkpoint(2, stopped.checkpoint_groups(), {}))
        resumed = _engine(subject)
        resumed.restore(checkpoint.load(Path(folder), 2))
    for step in range(2, 4):
        resumed.step(step)
    pairs = zip(uninterrupted.model.state_dict().values(), resumed.model.state_dict().values(), strict=True)
    difference = max(float((one.float() - two.float()).abs().max()) for one, two in pairs)
    exact = subject.run.device.type == "cpu"
    return Check("", difference, 0.0 if exact else ROUNDING, "4 steps, against 2 steps, a checkpoint and 2 more steps")


def _huggingface(subject: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        ours, *others = round_trips.through_transformers(subject.run, subject.inputs, Path(folder) / "model")
    both = torch.stack(others)
    return _compare(both, ours.expand_as(both), note="exported, run by transformers, and imported again")


def _gguf(subject: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        ours, again = round_trips.through_gguf(subject.run, subject.inputs, Path(folder) / "model.gguf")
    return _compare(again, ours, note="exported and imported again")


def _llama_cpp(subject: CertifiedRun) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        different, total = round_trips.through_llama_cpp(subject.run, Path(folder) / "model.gguf")
    return Check("", float(different), 0.0, f"different tokens of {total}, in greedy continuations of 5 prompts")


CHECKS: dict[str, Callable[[CertifiedRun], Check]] = {
    "cache against full": _cache,
    "generation against full": _generation,
    "batch size": _batch_size,
    "gradient accumulation": _accumulation,
    "compiled against eager": _compiled,
    "fp32 against bf16": _bfloat16,
    "resumed against uninterrupted": _resumed,
    "Hugging Face round trip": _huggingface,
    "GGUF round trip": _gguf,
    "llama.cpp, greedy": _llama_cpp,
}


def _engine(subject: CertifiedRun, micro_batches: int = 1) -> Engine:
    """A new engine with a copy of the run's weights and a random task, without dropout."""
    model = copy.deepcopy(subject.model)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    training = replace(
        subject.run.spec.training,
        batch=ROWS,
        gradient_accumulation=micro_batches,
        compile=False,
        precision="fp32",
        learning_rate=1e-3,
        freeze="none",
        lora_rank=0,
    )
    catalogue.check("optimiser", training.optimiser, "training.optimiser")
    task: Any = _RandomTask(subject.model, min(LENGTH, subject.run.spec.data.context))
    return Engine(replace(subject.run.spec, training=training), 4, task, model, None, subject.run.device)  # type: ignore[arg-type]


class _RandomTask:
    """Random inputs with the shapes of a model. The loss is the cross-entropy of a random target at each position.

    The checks of training do not depend on the data. The task has only the methods that the training engine calls.
    """

    def __init__(self, model: Any, length: int) -> None:
        self.model, self.length = model, length

    def example_count(self, shard: None) -> int:
        return EXAMPLES

    def example_lengths(self, shard: None) -> None:
        return None

    def batch(self, shard: None, seed: int, epochs: np.ndarray, examples: np.ndarray) -> Batch:
        rows = []
        for epoch, example in zip(epochs, examples, strict=True):
            number = hash_of_integers(seed, int(epoch) * EXAMPLES + int(example)) & (2**62 - 1)
            generator = torch.Generator().manual_seed(number)
            row = self.model.random_inputs(1, self.length, generator)
            row["targets"] = torch.randint(0, 2**30, (1, self.length), generator=generator)
            rows.append(row)
        return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}

    def prediction_count(self, batch: Batch) -> int:
        return len(batch["targets"])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        inputs = {name: value for name, value in batch.items() if name != "targets"}
        logits = model(**inputs).float()
        if logits.dim() == 2:
            logits = logits[:, None]
        targets = batch["targets"][:, : logits.shape[1], None] % logits.shape[-1]
        return -logits.log_softmax(-1).gather(-1, targets).mean(1).sum()
