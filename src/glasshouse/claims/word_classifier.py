"""The classifier of claims about texts of few words. It says all that the recipe could change: a claim stays what it is."""

WORD_CLASSIFIER = (
    "classifier",
    "data.tokenizer=words",
    "data.vocabulary=8192",
    "data.context=64",
    "model.dropout=0.2",
    "model.head.wide=0",
    "training.epochs=15",
    "training.batch=16",
    "training.ema=0",
)
