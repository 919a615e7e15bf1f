"""How figures are called and written for people: one table for terminals, reports and lists of runs."""

# Metric -> (what it is called, how it is written), in the order in which people want them.
SHOWN = {
    "accuracy": ("accuracy", "{:.2%}"),
    "majority": ("always the commonest", "{:.2%}"),
    "macro_f1": ("macro F1", "{:.3f}"),
    "bleu": ("BLEU", "{:.2f}"),
    "chrf": ("chrF", "{:.2f}"),
    "exact": ("exactly right", "{:.2%}"),
    "entailment": ("entailed", "{:.2%}"),
    "entailment_both": ("entailed both ways", "{:.2%}"),
    "adequacy": ("meaning kept", "{:.2%}"),
    "retrieval_1": ("text finds picture", "{:.2%}"),
    "retrieval_5": ("among the first 5", "{:.2%}"),
    "picture_to_text_1": ("picture finds text", "{:.2%}"),
    "picture_to_text_5": ("text among the first 5", "{:.2%}"),
    "perplexity": ("perplexity", "{:.2f}"),
    "word_perplexity": ("perplexity per word", "{:.2f}"),
    "bits_per_byte": ("bits per byte", "{:.4f}"),
    "loss": ("loss", "{:.4f}"),
    "tokens": ("tokens", "{:,.0f}"),
    "translated": ("translated", "{:,.0f}"),
    "examples": ("examples", "{:,.0f}"),
    "unknown_share": ("unknown", "{:.2%}"),
}
# What a list of runs, a headline and a line of progress have room for.
CHIEF = ("accuracy", "bleu", "exact", "retrieval_1", "picture_to_text_1", "perplexity", "bits_per_byte")


def name(metric: str) -> str:
    """What a metric is called."""
    return SHOWN[metric][0] if metric in SHOWN else metric.replace("_", " ").replace(".", " of ")


def figure(metric: str, value: float) -> str:
    """How its value is written."""
    return (SHOWN[metric][1] if metric in SHOWN else "{:.4g}").format(value)


def chief(metrics: dict[str, float]) -> list[tuple[str, str]]:
    """(name, figure) of the metrics that matter most, of those there are."""
    return [(name(metric), figure(metric, metrics[metric])) for metric in CHIEF if metric in metrics]


def ordered(metrics: dict[str, float]) -> list[str]:
    """The metrics that have a place in a table, in its order."""
    return [metric for metric in SHOWN if metric in metrics]
