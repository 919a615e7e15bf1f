"""Small trained runs of every task, for exports that must give the same answers."""

from pathlib import Path

import glasshouse
from glasshouse.runs.run import Run

TEXTS = ["the sun is warm", "no rain", "the wind in the garden, and the rain after the sun", "warm"]
SECOND = ["rain", "the sun and the wind in the warm garden", "no", "the garden"]
SMALL = (
    "data.vocabulary=270",
    "data.context=64",
    "model.width=16",
    "model.layers=1",
    "training.steps=40",
    "training.learning_rate=0.01",
    "evaluation.every=40",
    "model.dropout=0",
)
ENCODER = ("model.heads=2",)
# What makes an encoder of ours one of BERT's shape.
BERT = ("model.position=learned", "model.connection=post-norm", "model.embedding_norm=true")
FIRST_TOKEN = (*BERT, "model.head.pooling=first", "model.head.hidden=0", "model.head.wide=0")
DISTILBERT = (*BERT, "model.head.pooling=first", "model.head.hidden=16", "model.epsilon=1e-12")
# What makes a decoder of ours a classifier of GPT-2's or Llama's shape.
LAST_TOKEN = (
    "model.kind=decoder",
    "model.head.pooling=last",
    "model.head.hidden=0",
    "model.head.wide=0",
    "model.head.answer_bias=false",
)
GPT2 = ("model.position=learned", "model.norm=layer", "model.activation=gelu")
LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu", "model.bias=false")
# Until a translator's answers depend on the source. One evaluation at the end: the last weights are kept.
LONGER = ("training.steps=150", "evaluation.every=150")
WORDS = ("sun", "rain", "wind", "garden", "warm")


def _sentence(index: int) -> str:
    """One of 25 sentences. Its last word, WORDS[index % 5], determines what a task predicts."""
    return " ".join(WORDS[(index * step + index // 5) % 5] for step in (1, 2, 3, 7)) + f" in the {WORDS[index % 5]}"


def _rows(task: str) -> list[str]:
    texts = [_sentence(index) for index in range(60)]
    fields = {
        "classify": ["text,label", *(f"{text},{WORDS[i % 5 % 3]}" for i, text in enumerate(texts))],
        "multi-label": [
            "text,labels",
            *(f"{text},{WORDS[i % 5 % 3]}|{WORDS[3 + i % 5 % 2]}" for i, text in enumerate(texts)),
        ],
        "regress": ["text,value", *(f"{text},{10 + i % 5}" for i, text in enumerate(texts))],
        "tag": ["text,tags", *(f"{text},{' '.join('AB'[len(word) % 2] for word in text.split())}" for text in texts)],
        "pairs": ["text,second,label", *(f"{text},{texts[i // 2]},{WORDS[i % 5 % 2]}" for i, text in enumerate(texts))],
        "embed": ["source,target", *(f"{text},{text[::-1]}" for text in texts)],
        "translate": [
            "source,target",
            *(f"{text},{WORDS[i % 5].upper()} {WORDS[2 * i % 5]}" for i, text in enumerate(texts)),
        ],
    }
    return fields[task]


RECIPES = {
    "classify": "classifier",
    "multi-label": "multi-label-classifier",
    "regress": "regressor",
    "tag": "tagger",
    "pairs": "pair-classifier",
    "embed": "embedder",
    "translate": "translator",
}

TEXT_RECIPES = {"lm": "language-model", "masked": "masked-model"}


def trained(task: str, folder: Path, *overrides: str) -> Run:
    """A small run of this task, trained until its answers depend on the text."""
    if task in TEXT_RECIPES:
        path = folder / "text.txt"
        path.write_text("\n".join(map(_sentence, range(200))))
        return glasshouse.train(TEXT_RECIPES[task], f"data.files={path}", *SMALL, *ENCODER, *overrides, device="cpu")
    path = folder / "rows.csv"
    path.write_text("\n".join(_rows(task)) + "\n")
    start = ("training.start_from=",) if task == "embed" else ()
    return glasshouse.train(RECIPES[task], f"data.files={path}", *SMALL, *ENCODER, *start, *overrides, device="cpu")
