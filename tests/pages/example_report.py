"""A realistic example of a report, with synthetic curves, samples and attention. Nothing is trained."""

import dataclasses

import numpy as np

from glasshouse.results.report import AttentionMap, Curve, Report, Sample, Token
from glasshouse.results.table import Table

SPEC = """name = "first-light"

[data]
source = "state-of-the-union"
tokenizer = "byte-pair"
vocabulary = 2048

[model]
kind = "decoder"
layers = 4
heads = 4
width = 128
position = "rotary"

[training]
steps = 500
batch = 32
context = 64
optimiser = "adamw"
learning_rate = 0.003
"""

TEXT = (
    "My fellow Americans,| the| state| of| our| Union| is| strong|.| We| have| made| great| progress| in| the| last|"
    " year|,| and| we| must| now| turn| to| the| work| that| remains|.|\n|\n|Our| economy| has| cre|ated| more| than|"
    " two| million| new| jobs|,| and| the| rate| of| infl|ation| has| fallen| to| its| lowest| level| in| a|"
    " dec|ade|.|\n"
)
SECOND_TEXT = (
    "The Congress| should| act| to| preserve| the| peace| of| the| world|;| and| I| ask| that| you| give| your| earn|"
    "est| attention| to| the| treaties| now| before| the| Senate|.| The| Treasury| reports| a| surplus| of| $|4|,|"
    "600|,|000| for| the| fiscal| year|.|\n"
)


# Text that must be escaped in HTML, JavaScript and templates, with characters that UTF-8 cannot encode.
HOSTILE = "</script><script>alert(1)</script><b>bold</b> & \"quoted\" 'so' {{ 7 * 7 }} {% if %} ]]> <!-- \x00 \ud800"


def sample(text: str, seed: int) -> Sample:
    """A sample of this text, whose tokens are separated by "|"; the first piece is the prompt. Probabilities are random."""
    random = np.random.default_rng(seed)
    first, *rest = text.split("|")
    tokens = [Token(piece, None) for piece in first.replace(" ", "| ").split("|")]
    others = [" the", " a", " our", " to", " and", " of", ",", ".", " people", " nation", " Government"]
    for piece in rest:
        inside_word = piece[0].isalpha()
        probability = float(random.beta(5, 1.5) if inside_word else random.beta(0.6, 1.3))
        likely = [other for other in random.permutation(others) if other != piece][:5]
        shares = np.sort(random.dirichlet(np.ones(6)))[::-1][:5] * (1 - probability)
        ranked = sorted([(piece, probability), *zip(likely, map(float, shares), strict=True)], key=lambda pair: -pair[1])
        tokens.append(Token(piece, probability, tuple(ranked[:5])))
    return Sample(first, tuple(tokens))


def attention(layers: int = 4, heads: int = 4, length: int = 48) -> AttentionMap:
    """Causal attention whose heads show typical patterns."""
    random = np.random.default_rng(7)
    tokens = [token.text for token in (*sample(TEXT, 1).tokens, *sample(SECOND_TEXT, 2).tokens)]
    tokens = (tokens * (length // len(tokens) + 1))[:length]
    query, key = np.indices((length, length))
    distance = query - key
    same = np.array([[a == b for b in tokens] for a in tokens])
    patterns = (
        lambda: -abs(distance - 1) * 2.2,  # the previous token
        lambda: -distance / random.uniform(2, 9),  # the recent past
        lambda: 4.5 * (key == 0),  # the first token, a common attention sink
        lambda: 3.5 * same - distance / 30,  # equal tokens
        lambda: 5.0 * (distance == 0),  # itself
        lambda: 0.0 * distance,  # uniform
    )
    weights = np.empty((layers, heads, length, length))
    for index in range(layers * heads):
        scores = patterns[index % len(patterns)]() + random.normal(0, 0.7, (length, length))
        scores = np.where(distance >= 0, scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights[divmod(index, heads)] = shares / shares.sum(axis=1, keepdims=True)
    return AttentionMap(tuple(tokens), weights)


def report(steps: int = 500) -> Report:
    """A report of a run with this many steps."""
    random = np.random.default_rng(0)
    every = np.arange(1, steps + 1)
    training = 4.05 + 3.6 * np.exp(-every / (steps * 0.13)) - 0.35 * every / steps + random.normal(0, 0.045, steps)
    measured = np.unique(np.concatenate([[1], np.arange(steps // 20, steps + 1, max(1, steps // 20))]))
    validation = 4.13 + 3.55 * np.exp(-measured / (steps * 0.13)) - 0.22 * measured / steps
    rate = 3e-3 * np.minimum(every / (steps * 0.08), 0.5 + 0.5 * np.cos(np.pi * every / steps))
    return Report(
        title="first-light",
        subtitle="decoder, 1.3 M parameters, trained for 500 steps on state-of-the-union",
        headline=(
            ("validation perplexity", "50.1"),
            ("bits per byte", "1.71"),
            ("training time", "1 min 58 s"),
            ("tokens seen", "1.0 M"),
            ("peak memory", "812 MB"),
        ),
        loss=(
            Curve("training loss", every.tolist(), training.tolist()),
            Curve("validation loss", measured.tolist(), validation.tolist()),
        ),
        quality=(
            Curve("training perplexity", every.tolist(), np.exp(training).tolist()),
            Curve("validation perplexity", measured.tolist(), np.exp(validation).tolist()),
        ),
        samples=(sample(TEXT, 1), sample(SECOND_TEXT, 2)),
        attention=attention(),
        parameters=(
            ("token embedding", 262_144),
            ("attention", 263_168),
            ("feed-forward", 527_360),
            ("normalisation", 2_304),
            ("output", 262_144),
        ),
        planned_costs=Table(
            "",
            ("cost", "predicted", "measured"),
            (
                ("time", "1 min 50 s", "1 min 58 s"),
                ("peak memory", "790 MB", "812 MB"),
                ("compute", "7.9 TFLOP", "7.9 TFLOP"),
                ("validation loss", "3.9 to 4.2", "3.91"),
            ),
        ),
        spec=SPEC,
        machine=(
            ("processor", "2 cores, x86-64"),
            ("accelerator", "none"),
            ("number format", "float32"),
            ("PyTorch", "2.11.0"),
            ("Glasshouse", "0.1.0"),
            ("seed", "0"),
        ),
        other=(
            Curve("learning rate", every.tolist(), rate.tolist()),
            Curve("gradient norm", every.tolist(), (0.4 + 2 * np.exp(-every / 40) + random.gamma(2, 0.05, steps)).tolist()),
            Curve("tokens per second", every.tolist(), (8700 + random.normal(0, 240, steps)).tolist()),
        ),
        notes=(
            "The batch was halved to 32 so that a step fits the memory of this machine.",
            "Validation used every held-out token (113,408), not a sample of them.",
        ),
        commands=(
            "glasshouse generate first-light --prompt 'My fellow Americans,'",
            "glasshouse inspect first-light --layer 2 --head 1",
            "glasshouse compare first-light --swap model.position=sinusoidal --seeds 5",
        ),
    )


def hostile() -> Report:
    """A report in which every text must be escaped."""
    return dataclasses.replace(
        report(),
        title=HOSTILE,
        subtitle=HOSTILE,
        headline=((HOSTILE, HOSTILE),),
        loss=(Curve(HOSTILE, [1, 2], [2, 1]),),
        samples=(Sample(HOSTILE, (Token(HOSTILE, None), Token(HOSTILE, 0.5, ((HOSTILE, 0.5), ("b", 0.2))))),),
        attention=AttentionMap((HOSTILE, HOSTILE), np.ones((1, 1, 2, 2)) / 2),
        parameters=((HOSTILE, 1),),
        planned_costs=Table(HOSTILE, (HOSTILE,) * 3, ((HOSTILE,) * 3,)),
        spec=HOSTILE,
        machine=((HOSTILE, HOSTILE),),
        other=(Curve(HOSTILE, [1, 2], [2, 1]),),
        notes=(HOSTILE,),
        commands=(HOSTILE,),
    )
