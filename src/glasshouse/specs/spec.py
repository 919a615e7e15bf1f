"""The spec: everything that makes a run, as a task's name and four small frozen dataclasses.

The model's head and its picture side are tables of their own inside it (`model.head.pooling`). Each field's meaning, range
and default stands here and nowhere else. Nothing here imports torch.
"""

from dataclasses import dataclass, field

from glasshouse.specs.spec_fields import setting


@dataclass(frozen=True)
class DataSpec:
    """Where the text comes from and how it becomes tokens."""

    source: str = setting("", "a data set by name (see `glasshouse data`)", family="source", instead_of="files")
    files: tuple[str, ...] = setting((), "your own text: plain, .gz, or JSON lines", instead_of="source")
    field: str = setting("text", "the field of a JSON line that holds the text")
    label: str = setting("label", "the field of a row that holds its class")
    target: str = setting("target", "the field of a row that holds its translation")
    picture_size: int = setting(32, "pixels along each side that pictures are brought to", minimum=8)
    tokenizer: str = setting("byte-pair", "how text becomes tokens", family="tokenizer", instead_of="tokenizer_file")
    tokenizer_file: str = setting("", "a tokenizer.json to use as it is, instead of training one")
    vocabulary: int = setting(4096, "number of tokens (an upper bound for words and characters)", minimum=2)
    pattern: str = setting("gpt-2", "how byte-pair text is split before merging", choices=("gpt-2", "gpt-4"))
    context: int = setting(128, "tokens the model sees at once", minimum=2)
    validation: float = setting(0.05, "share of your own text held out for validation", minimum=0, maximum=0.5)
    test: float = setting(0.05, "share of your own text held out for testing", minimum=0, maximum=0.4)


@dataclass(frozen=True)
class HeadSpec:
    """What the model's features are turned into."""

    kind: str = setting("", "what comes out; by default what the kind of model is for", family="head")
    classes: int = setting(0, "classes that a classifier tells apart", minimum=0)
    pooling: str = setting("mean", "how tokens become one vector", choices=("mean", "first", "last", "max"))
    hidden: int = setting(0, "size of a classifier's hidden layer; 0 means none", minimum=0)
    norm: str = setting("none", "normalisation of that hidden layer", family="norm")
    naive_bayes: float = setting(
        0.0, "weight of naive Bayes over the tokens in what an encoder's classifier answers; 0 means none", minimum=0
    )
    bias: bool = setting(False, "a bias for every token of the vocabulary")
    width: int = setting(0, "size of the space where text and pictures meet; 0 means the width", minimum=0)


@dataclass(frozen=True)
class ImageSpec:
    """The picture side of a dual encoder; 0 means as on the text side."""

    size: int = setting(32, "pixels along each side", minimum=1)
    channels: int = setting(3, "numbers of a pixel", minimum=1)
    patch: int = setting(8, "pixels along each side of a patch; must divide the size", minimum=1)
    width: int = setting(0, "size of the residual stream", minimum=0)
    layers: int = setting(0, "number of blocks", minimum=0)
    heads: int = setting(0, "attention heads of a block", minimum=0)
    feed_forward: int = setting(0, "inner size of the feed-forward part", minimum=0)
    norm: bool = setting(False, "normalise embedded patches before the first block")


@dataclass(frozen=True)
class ModelSpec:
    """Which parts, and how large."""

    kind: str = setting("decoder", "the model", family="model")
    width: int = setting(128, "size of the residual stream", minimum=1)
    layers: int = setting(4, "number of blocks; an encoder may have none", minimum=0)
    encoder_layers: int = setting(0, "blocks of an encoder-decoder's encoder; 0 means as many as layers", minimum=0)
    heads: int = setting(4, "attention heads of a block; must divide the width", minimum=1)
    key_value_heads: int = setting(0, "heads of grouped-query's keys and values; 0 means half as many", minimum=0)
    head_width: int = setting(0, "size of a head; 0 means width / heads", minimum=0)
    feed_forward: int = setting(0, "inner size of the feed-forward part; 0 means four times the width", minimum=0)
    feed_forward_layers: int = setting(1, "inner layers of the feed-forward part, each of that size", minimum=1)
    attention: str = setting("dot-product", "the attention part", family="attention")
    window: int = setting(0, "distance at which a local window ends; 0 means a quarter of the context", minimum=0)
    rank: int = setting(0, "Linformer's keys, Performer's random features; 0 chooses", minimum=0)
    position: str = setting("rotary", "how order enters", family="position")
    rotary_base: float = setting(10000.0, "rotary's longest wavelength, over 2 pi", minimum=1)
    norm: str = setting("layer", "the normalisation part", family="norm")
    epsilon: float = setting(1e-5, "what normalisation adds to a variance", minimum=0)
    connection: str = setting("pre-norm", "how a part joins the residual stream", family="connection")
    activation: str = setting("gelu", "the feed-forward part", family="feed_forward")
    cell: str = setting("lstm", "a recurrent model's cell", family="cell")
    bidirectional: bool = setting(False, "a recurrent model reads from both ends")
    causal: bool = setting(False, "an encoder's tokens see only those before them")
    segments: int = setting(0, "kinds of segment that a token may belong to (BERT's token types)", minimum=0)
    embedding_norm: bool = setting(False, "normalise embeddings before the first block")
    ngrams: int = setting(1, "an encoder's embeddings are of runs of up to so many tokens", minimum=1)
    ngram_buckets: int = setting(16384, "vectors that these runs share by their hash", minimum=1)
    tied: bool = setting(True, "use the token embedding as the output matrix too")
    bias: bool = setting(False, "biases in linear layers and layer norm")
    dropout: float = setting(0.0, "share of activations dropped in training", minimum=0, maximum=0.95)
    initialisation: float = setting(0.5, "initial weights have deviation this / sqrt(inputs)", minimum=0)
    head: HeadSpec = field(default_factory=HeadSpec)
    image: ImageSpec = field(default_factory=ImageSpec)


@dataclass(frozen=True)
class TrainingSpec:
    """How the weights are found."""

    steps: int = setting(0, "optimiser steps (or give epochs)", minimum=0, instead_of="epochs")
    epochs: float = setting(0.0, "passes over the training text (or give steps)", minimum=0, instead_of="steps")
    batch: int = setting(16, "sequences in a step", minimum=1)
    accumulate: int = setting(1, "parts a batch is computed in, to save memory; the loss is the same", minimum=1)
    optimiser: str = setting("adamw", "the optimiser", family="optimiser")
    learning_rate: float = setting(1e-3, "the highest learning rate", minimum=0)
    schedule: str = setting("cosine", "how the learning rate falls", choices=("constant", "cosine", "warmup-stable-decay"))
    warmup: float = setting(0.05, "share of the steps spent rising from zero", minimum=0, maximum=1)
    decay: float = setting(0.2, "share of the steps after warm-up spent falling (warmup-stable-decay)", minimum=0, maximum=1)
    final: float = setting(0.1, "learning rate at the end, as a share of the highest", minimum=0, maximum=1)
    beta1: float = setting(0.9, "AdamW's memory of the gradient", minimum=0, maximum=0.9999)
    beta2: float = setting(0.99, "AdamW's memory of its square", minimum=0, maximum=0.99999)
    weight_decay: float = setting(0.1, "pull of matrices towards zero", minimum=0)
    label_smoothing: float = setting(
        0.0, "share of a target token's probability spread over all tokens", minimum=0, maximum=0.9
    )
    loss_on: str = setting(
        "target", "a decoder alone that translates learns from the target, or from all", choices=("target", "all")
    )
    class_weights: tuple[str, ...] = setting((), "what classes count in a classifier's loss: [balanced], or [name=2]")
    average: float = setting(
        0.0,
        "memory of a running mean of the weights, which is what is measured and used; 0 means none",
        minimum=0,
        maximum=0.9999,
    )
    start_from: str = setting("", "a run whose weights to begin with; its shape and tokenizer are taken over too")
    freeze: str = setting(
        "none",
        "what is not trained: all below the head, or that until it thaws from the top down",
        choices=("none", "encoder", "gradual"),
    )
    thawed: float = setting(0.5, "share of the steps after which all is thawed (freeze=gradual)", minimum=0, maximum=1)
    layer_decay: float = setting(1.0, "learning rate of a block as a share of the block's above it", minimum=0, maximum=1)
    lora_rank: int = setting(0, "rank of low-rank adapters, all else but the head frozen; 0 means none", minimum=0)
    lora_alpha: float = setting(16.0, "adapters are scaled by this / rank", minimum=0)
    lora_targets: tuple[str, ...] = setting(("projection", "output"), "matrices of a block that get adapters")
    patience: int = setting(0, "evaluations without a better one after which a run ends early; 0 means never", minimum=0)
    clip: float = setting(1.0, "largest gradient norm; 0 means no clipping", minimum=0)
    seed: int = setting(0, "decides initial weights, data order and dropout", minimum=0, maximum=2**31 - 1)
    replicas: int = setting(1, "runs with seeds seed, seed + 1, ..., side by side as one program", minimum=1, maximum=4096)
    precision: str = setting("auto", "auto measures and says what it chose", choices=("auto", "fp32", "bf16"))
    threads: int = setting(0, "CPU threads; 0 measures and says what it chose", minimum=0)
    compile: bool = setting(False, "torch.compile the model (slow to start)")
    capture: bool = setting(True, "on CUDA, record the step as a graph and replay it; not with compile")
    checkpoint_every: int = setting(0, "steps between checkpoints; 0 means at every evaluation", minimum=0)
    loggers: tuple[str, ...] = setting((), "where metrics go besides metrics.jsonl", family="logger")


@dataclass(frozen=True)
class EvaluationSpec:
    """What is measured on the way and at the end."""

    every: int = setting(100, "steps between evaluations", minimum=1)
    batch: int = setting(32, "sequences at a time", minimum=1)
    tokens: int = setting(0, "most validation tokens used during training; 0 means all", minimum=0)
    stride: int = setting(0, "tokens newly scored per window at the end; 0 means half the context", minimum=0)
    prompts: tuple[str, ...] = setting((), "what the report's samples continue, or translate")
    sample_tokens: int = setting(60, "tokens of each such sample", minimum=1)
    beams: int = setting(1, "translations kept at each step when the best weights are measured; 1 is greedy", minimum=1)
    length_penalty: float = setting(1.0, "beams are compared by log-probability / length to this power", minimum=0)
    each_word: bool = setting(False, "translate a text word by word")


@dataclass(frozen=True)
class Spec:
    """One run, wholly described."""

    task: str = "next-token"
    data: DataSpec = field(default_factory=DataSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    training: TrainingSpec = field(default_factory=TrainingSpec)
    evaluation: EvaluationSpec = field(default_factory=EvaluationSpec)


# Every table of a spec by its dotted name, a table before those inside it.
SECTIONS: dict[str, type] = {
    "data": DataSpec,
    "model": ModelSpec,
    "model.head": HeadSpec,
    "model.image": ImageSpec,
    "training": TrainingSpec,
    "evaluation": EvaluationSpec,
}
