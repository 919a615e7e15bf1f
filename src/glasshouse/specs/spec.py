"""The spec: everything that defines a run, as a task's name and four small frozen dataclasses.

These fields belong to every run. A task, a part, a head or a kind of model declares further settings on its own class. Their
values are stored in `own`; in a TOML file they are ordinary fields of the same table. Nothing here imports torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from glasshouse.specs.spec_fields import setting


class OwnSettings(dict[str, Any]):
    """The values, by name, of settings that classes declare. Nothing changes one, so that a frozen spec can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


@dataclass(frozen=True)
class OpenSection:
    """A table to which parts or the task add settings: `own` holds their values."""

    own: Mapping[str, Any] = field(default_factory=OwnSettings, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "own", OwnSettings(sorted(self.own.items())))


@dataclass(frozen=True)
class DataSpec:
    """The text (or pairs, labels, pictures) and its tokenizer."""

    source: str = setting("", "a data set by name (see `glasshouse data`)", family="source", instead_of="files")
    files: tuple[str, ...] = setting((), "your own text, documents or tables: files, folders, patterns", instead_of="source")
    validation_files: tuple[str, ...] = setting((), "your own files for validation, instead of a share", rare=True)
    test_files: tuple[str, ...] = setting((), "your own files for testing, instead of a share", rare=True)
    field: str = setting("text", "the column that holds the text, by name or number")
    label: str = setting("label", "the column that holds the class label, number or tags, by name or number")
    target: str = setting("target", "the column that holds the translation, by name or number")
    second: str = setting("", "the column that holds the second text of a pair", rare=True)
    group: str = setting("", "a column whose equal values stay in one split, by name or number", rare=True)
    stratify: bool = setting(False, "give every split the same shares of the classes", rare=True)
    delimiter: str = setting(
        "auto",
        "what separates the columns of .csv and .tsv files; auto looks at them",
        choices=("auto", "comma", "tab", "semicolon", "pipe"),
        rare=True,
    )
    encoding: str = setting("", "the encoding of text files that are not UTF-8, such as latin-1 or shift_jis", rare=True)
    header: str = setting(
        "auto", "whether the first line of .csv and .tsv files names the columns", choices=("auto", "yes", "no"), rare=True
    )
    decimal: str = setting("auto", "the decimal mark of numbers in tables", choices=("auto", "point", "comma"), rare=True)
    missing_targets: str = setting(
        "refuse", "what happens to rows with n/a, ? or the like as number or label", choices=("refuse", "skip"), rare=True
    )
    megabytes: float = setting(0.0, "megabytes of text that are used at most; 0 means all", minimum=0, rare=True)
    adapt: tuple[str, ...] = setting((), "settings that still adapt to the amount of your own data", rare=True)
    insist: bool = setting(False, "take labels as they are, even if they look like an accident", rare=True)
    limits: tuple[str, ...] = setting(
        (),
        "limits on what is read that are raised, as in [classes=50000,line=100]: expansion (of a compressed file, times), "
        "line (million characters), table (megabytes in memory), nesting, columns, classes",
        rare=True,
    )
    picture_size: int = setting(32, "side length in pixels that pictures are resized to", minimum=8)
    tokenizer: str = setting("byte-pair", "the tokenizer to train", family="tokenizer", instead_of="tokenizer_file")
    tokenizer_file: str = setting("", "an existing tokenizer.json to use instead of training one")
    vocabulary: int = setting(4096, "vocabulary size (an upper bound for words and characters)", minimum=2)
    pattern: str = setting("gpt-2", "the pre-tokenizer pattern of byte-pair encoding", choices=("gpt-2", "gpt-4"))
    context: int = setting(128, "context length in tokens", minimum=2)
    validation: float = setting(0.05, "share of your own files held out for validation", minimum=0, maximum=0.5)
    test: float = setting(0.05, "share of your own files held out for testing", minimum=0, maximum=0.4)


@dataclass(frozen=True)
class HeadSpec(OpenSection):
    """The head, which turns the model's features into outputs."""

    kind: str = setting("", "the head; empty means the default of the task or of the kind of model", family="head")


@dataclass(frozen=True)
class ModelSpec(OpenSection):
    """The parts of the model and their sizes."""

    kind: str = setting("decoder", "the kind of model", family="model")
    width: int = setting(128, "width of the residual stream (the hidden size)", minimum=1)
    layers: int = setting(4, "number of blocks; an encoder may have none", minimum=0)
    heads: int = setting(4, "attention heads of a block; must divide the width", minimum=1)
    head_width: int = setting(0, "size of a head; 0 means width / heads", minimum=0)
    feed_forward: int = setting(0, "inner size of the feed-forward part; 0 means four times the width", minimum=0)
    embedding: str = setting("token", "how tokens become vectors", family="embedding")
    attention: str = setting("dot-product", "the attention part", family="attention")
    position: str = setting("rotary", "the positional encoding", family="position")
    norm: str = setting("layer", "the normalisation part", family="norm")
    epsilon: float = setting(1e-5, "added to the variance in a normalisation", minimum=0, maximum=1)
    connection: str = setting("pre-norm", "the residual connection around each part", family="connection")
    activation: str = setting("gelu", "the activation, and with it the kind of feed-forward part", family="feed_forward")
    embedding_norm: bool = setting(False, "normalise embeddings before the first block")
    tied: bool = setting(True, "use the token embedding as the output matrix too")
    bias: bool = setting(False, "biases in linear layers and layer norm")
    dropout: float = setting(0.0, "share of activations dropped in training", minimum=0, maximum=0.95)
    pruned_heads: tuple[str, ...] = setting((), "attention heads that were removed: blocks.0.attention.2", rare=True)
    initialisation: float = setting(0.5, "initial weights have standard deviation this / sqrt(inputs)", minimum=0)
    zero_branches: bool = setting(
        False, "initialise the last matrix of every attention and feed-forward part with zeros", rare=True
    )
    head: HeadSpec = field(default_factory=HeadSpec)


@dataclass(frozen=True)
class TrainingSpec(OpenSection):
    """Optimiser, schedule, fine-tuning, formats, checkpoints."""

    steps: int = setting(0, "optimiser steps (or set epochs)", minimum=0, instead_of="epochs")
    epochs: float = setting(0.0, "passes over the training data (or set steps)", minimum=0, instead_of="steps")
    batch: int = setting(16, "batch size: sequences in a step", minimum=1)
    batch_warmup: float = setting(
        0.0, "share of the steps with a smaller batch: first a quarter, then half of it", minimum=0, maximum=1, rare=True
    )
    gradient_accumulation: int = setting(1, "number of micro-batches that a batch is split into, to save memory", minimum=1)
    optimiser: str = setting("adamw", "the optimiser", family="optimiser")
    learning_rate: float = setting(1e-3, "the peak learning rate", minimum=0)
    schedule: str = setting("cosine", "the learning-rate schedule", choices=("constant", "cosine", "warmup-stable-decay"))
    warmup: float = setting(0.05, "share of the steps in which the learning rate rises from 0", minimum=0, maximum=1)
    decay: float = setting(
        0.2, "share of the steps after warm-up in which the rate falls (schedule=warmup-stable-decay)", minimum=0, maximum=1
    )
    final: float = setting(0.1, "final learning rate as a share of the peak", minimum=0, maximum=1)
    beta1: float = setting(0.9, "decay of the gradient's moving average (AdamW, Lion and others)", minimum=0, maximum=0.9999)
    beta2: float = setting(
        0.99, "decay of the moving average of the squared gradient, or of the gradient with lion", minimum=0, maximum=0.99999
    )
    weight_decay: float = setting(0.1, "weight decay of matrices; biases and gains are not decayed", minimum=0)
    clip: float = setting(1.0, "clip the gradient to this norm; 0 turns clipping off", minimum=0)
    ema: float = setting(
        0.0,
        "decay of an exponential moving average of the weights, used instead of them; 0 turns it off",
        minimum=0,
        maximum=0.9999,
    )
    start_from: str = setting(
        "",
        "where weights, model shape and tokenizer come from: a run ({seed} stands for this run's seed), a Hugging Face "
        "directory, or package:NAME, an installed package with weights",
    )
    freeze: str = setting(
        "none",
        "backbone freezes everything except the head; gradual unfreezes it from the top down",
        choices=("none", "backbone", "gradual"),
    )
    unfrozen_by: float = setting(
        0.5, "share of the steps by which everything is unfrozen (freeze=gradual)", minimum=0, maximum=1
    )
    layer_decay: float = setting(1.0, "learning rate of a block as a share of that of the block above", minimum=0, maximum=1)
    lora_rank: int = setting(
        0, "rank of LoRA adapters; everything except them and the head is frozen; 0 means none", minimum=0
    )
    lora_alpha: float = setting(16.0, "adapters are scaled by lora_alpha / lora_rank", minimum=0)
    lora_targets: tuple[str, ...] = setting(("projection", "output"), "matrices of a block that get LoRA adapters")
    patience: int = setting(0, "stop early after this many evaluations without improvement; 0 turns it off", minimum=0)
    seed: int = setting(0, "random seed of initial weights, data order and dropout", minimum=0, maximum=2**31 - 1)
    replicas: int = setting(1, "number of runs, with seeds seed, seed + 1, ..., trained together as one program", minimum=1)
    precision: str = setting("auto", "number format; auto goes by a rule", choices=("auto", "fp32", "tf32", "bf16"))
    threads: int = setting(0, "CPU threads; 0 chooses the number as precision=auto chooses the format", minimum=0)
    processes: int = setting(1, "number of processes (`torchrun`) that divide the rows of every batch", minimum=1, rare=True)
    parallel: str = setting(
        "auto",
        "with several processes: replicate all weights in each (DDP), or shard them (FSDP); auto shards if they do not fit",
        choices=("auto", "replicate", "shard"),
        rare=True,
    )
    checkpoint_activations: bool = setting(
        False, "compute activations again in the backward pass instead of storing them: less memory, more time", rare=True
    )
    compile: bool = setting(False, "compile the model with torch.compile (slow to start)")
    cuda_graph: bool = setting(True, "on CUDA, record the step as a CUDA graph and replay it")
    bf16_residual: bool = setting(False, "in bfloat16, keep the residual stream in it too, with sums of 8 bits", rare=True)
    fp8_products: bool = setting(
        False, "in bfloat16 on NVIDIA GPUs of compute capability 8.9 or newer, compute large products in 8 bits", rare=True
    )
    checkpoint_every: int = setting(
        0, "steps between checkpoints; 0 means at evaluations, of replicas at most every 10 seconds", minimum=0
    )
    checkpoint_at: int = setting(0, "a step whose checkpoint is kept besides the others; 0 means none", minimum=0, rare=True)
    loggers: tuple[str, ...] = setting((), "where metrics are logged besides metrics.jsonl", family="logger")


@dataclass(frozen=True)
class EvaluationSpec(OpenSection):
    """Measurements during training and at the end."""

    every: int = setting(100, "steps between evaluations", minimum=1)
    batch: int = setting(32, "batch size in evaluations", minimum=1)
    prompts: tuple[str, ...] = setting((), "prompts that the report's samples continue or translate")
    sample_tokens: int = setting(60, "length of each of these samples in tokens", minimum=1)
    baselines: bool = setting(True, "train simple baselines on the same data after training, and compare", rare=True)


@dataclass(frozen=True)
class Spec:
    """Everything that defines one run."""

    task: str = "next-token"
    data: DataSpec = field(default_factory=DataSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    training: TrainingSpec = field(default_factory=TrainingSpec)
    evaluation: EvaluationSpec = field(default_factory=EvaluationSpec)


# Every table of a spec by its dotted name. An outer table comes before its inner tables.
SECTIONS: dict[str, type] = {
    "data": DataSpec,
    "model": ModelSpec,
    "model.head": HeadSpec,
    "training": TrainingSpec,
    "evaluation": EvaluationSpec,
}
