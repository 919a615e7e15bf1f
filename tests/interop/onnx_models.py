"""Small models of every kind, for exports as ONNX graphs."""

from dataclasses import replace

from glasshouse.specs.spec import HeadSpec, ModelSpec

DECODER = ModelSpec(width=12, layers=1, heads=3)
ENCODER = replace(DECODER, kind="encoder")
RECURRENT = replace(DECODER, kind="recurrent", attention="none")
PICTURES = {"image_size": 8, "patch_size": 4}


def classifier(**own: object) -> HeadSpec:
    return HeadSpec("classifier", own={"classes": 3, **own})


FAST: dict[str, ModelSpec] = {
    "decoder": replace(DECODER, norm="rms", activation="swiglu"),
    "recurrent": replace(RECURRENT, own={"cell": "identity"}),
}
SLOW: dict[str, ModelSpec] = {
    **{
        f"{name} positions": replace(DECODER, position=name)
        for name in ("learned", "sinusoidal", "alibi", "relative", "relative-buckets")
    },
    **{f"{name} attention": replace(DECODER, attention=name) for name in ("grouped-query", "additive", "local-window")},
    **{f"{name} attention": replace(ENCODER, attention=name, head=classifier()) for name in ("linformer", "performer")},
    **{f"{name} pooling": replace(ENCODER, head=classifier(pooling=name)) for name in ("mean", "first", "last")},
    **{f"{cell} cell": replace(RECURRENT, own={"cell": cell}) for cell in ("tanh", "relu", "gru", "lstm")},
    "wide part": replace(ENCODER, head=classifier(wide=2, wide_buckets=97, pooling="max")),
    "n-grams, naive Bayes": replace(ENCODER, embedding="ngram", head=classifier(naive_bayes=0.5, hidden=8, norm="layer")),
    "segments": replace(ENCODER, own={"segments": 2}, head=classifier()),
    "tagger": replace(ENCODER, head=HeadSpec("tagger", own={"tags": 4})),
    "masked tokens": ENCODER,
    "vectors": replace(ENCODER, head=HeadSpec("pooled")),
    "regressor": replace(ENCODER, head=HeadSpec("regressor", own={"mean": 5.0, "deviation": 3.0})),
    "decoder with a classifier": replace(DECODER, head=classifier()),
    "encoder-decoder": replace(DECODER, kind="encoder-decoder"),
    "dual encoder": replace(DECODER, kind="dual-encoder", own=PICTURES),
    "picture decoder": replace(DECODER, kind="picture-decoder", own=PICTURES),
    "picture encoder-decoder": replace(DECODER, kind="picture-encoder-decoder", own=PICTURES),
    "bidirectional": replace(
        RECURRENT, attention="dot-product", own={"cell": "lstm", "bidirectional": True}, head=classifier()
    ),
}
