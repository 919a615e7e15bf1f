"""Heads with a few outputs: class logits or one number for a whole sequence, or logits of a tag for each token.

Axes: B batch, T time, D width, V vocabulary, C classes.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.heads.pooling import POOLINGS, pool
from glasshouse.models.heads.wide_part import WidePart
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting

# Of the wide part: a checkpoint has at most twice so many of its weights, 32 MB.
MAX_WIDE_WEIGHTS = 2**22
MAX_BUCKETS = 131_072


class AnswerHead(Head):
    """W dropout(norm(relu(A x + a))) + b, or W dropout(x) + b without a hidden layer, of the pooled vectors x."""

    def __init__(self, sizes: Sizes, hidden: int, outputs: int, norm: nn.Module | None = None, bias: bool = True) -> None:
        super().__init__()
        self.width = sizes.width
        self.hidden = nn.Linear(sizes.width, hidden) if hidden else None
        self.norm = norm
        self.dropout = nn.Dropout(sizes.dropout)
        self.answer = nn.Linear(hidden or sizes.width, outputs, bias=bias)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.answers(pool(features_BTD, self.pooling, lengths_B))

    def answers(self, x: Tensor) -> Tensor:
        if self.hidden is not None:
            x = F.relu(self.hidden(x))
            x = x if self.norm is None else self.norm(x)
        return self.answer(self.dropout(x))


class ClassifierHead(AnswerHead):
    """Classifier head: W dropout(norm(relu(A pool(x) + a))) + b, or W dropout(pool(x)) + b without a hidden layer.

    With `naive_bayes` = w, evaluation adds w (log p(class) + sum of log p(token | class)) to the logits. The probabilities
    are estimated from the training texts with add-one smoothing. Training leaves them out: on the texts that they were
    estimated from they fit so well that the network would have nothing left to learn. A discriminative and a generative
    classifier make different errors, and the generative one makes fewer when there are few training texts (Ng and Jordan,
    On Discriminative vs. Generative Classifiers, 2001).

    With `wide` = n, evaluation adds the logits of a linear model over n-grams of tokens and bytes. In training the task adds
    the logits of linear models that did not see the text, so that the network learns what the wide part leaves over.
    """

    @dataclass(frozen=True)
    class Settings:
        classes: int = setting(0, "number of classes; 0 means as many as the data have", minimum=0, maximum=10_000_000)
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)
        norm: str = setting("none", "normalisation of the hidden layer", family="norm")
        naive_bayes: float = setting(0.0, "weight of naive Bayes log-probabilities in the logits; 0 turns it off", minimum=0)
        wide: int = setting(0, "maximum token n-gram of the wide part; 0 turns it off", minimum=0, maximum=20, rare=True)
        wide_bytes: int = setting(5, "maximum byte n-gram of the wide part; 0 means none", minimum=0, maximum=64, rare=True)
        wide_buckets: int = setting(0, "hash buckets of n-grams; 0 means up to 131,072", minimum=0, maximum=10**8, rare=True)
        answer_bias: bool = setting(True, "add a bias to the logits of the classes", rare=True)

    prior_C: Tensor
    evidence_VC: Tensor

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        classes, hidden = settings.classes, settings.hidden
        if classes < 2:
            raise SpecError("is too few for a classifier; choose 2 or more", "model.head.classes", classes)
        if settings.norm != "none" and not hidden:
            raise SpecError("needs a hidden layer; choose a model.head.hidden above 0", "model.head.norm", settings.norm)
        norm = catalogue.find("norm", settings.norm, "model.head.norm")
        norm = Sizes(max(hidden, 1), bias=True, epsilon=sizes.epsilon).build(norm, settings_of(norm, {}))
        super().__init__(sizes, hidden, classes, norm, settings.answer_bias)
        self.pooling = settings.pooling
        if settings.wide:
            buckets = settings.wide_buckets or min(MAX_BUCKETS, max(MAX_WIDE_WEIGHTS // classes, 1))
            self.wide = WidePart(sizes.vocabulary, classes, settings.wide, settings.wide_bytes, buckets)
        self.naive_bayes = settings.naive_bayes
        if self.naive_bayes:
            self.register_buffer("prior_C", torch.zeros(classes))
            self.register_buffer("evidence_VC", torch.zeros(sizes.vocabulary, classes))

    def add_token_evidence(self, output: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        if self.training:
            return output
        if self.wide is not None:
            output = output + self.wide(tokens_BT, lengths_B)
        if not self.naive_bayes:
            return output
        evidence_BTC = F.embedding(tokens_BT, self.evidence_VC)
        if lengths_B is not None:
            positions_T = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
            evidence_BTC = evidence_BTC * (positions_T < lengths_B[:, None])[..., None]
        return output + self.naive_bayes * (self.prior_C + evidence_BTC.sum(1))

    def token_evidence(self, tokens_BT: Tensor) -> Tensor | None:
        return None if self.wide is None else self.wide.token_logits(tokens_BT)

    def set_counts(self, tokens_VC: Tensor, texts_C: Tensor) -> None:
        """Set the naive Bayes probabilities from token counts per class and text counts per class."""
        smoothed_VC = tokens_VC + 1.0
        self.evidence_VC.copy_((smoothed_VC / smoothed_VC.sum(0)).log())
        self.prior_C.copy_((texts_C.clamp(min=1) / texts_C.sum()).log())


class RegressorHead(AnswerHead):
    """Regressor head: one number for a whole sequence.

    w dropout(relu(A pool(x) + a)) + b, or w dropout(pool(x)) + b without a hidden layer. The output is a standardised
    number, which is easier to learn than one of any size. `mean` and `deviation` are those of the training data; output *
    deviation + mean is the prediction in the unit of the data.
    """

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)
        mean: float = setting(0.0, "mean of the training values; taken from the data")
        deviation: float = setting(0.0, "standard deviation of the training values; taken from the data", minimum=0)

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        super().__init__(sizes, settings.hidden, 1)
        self.pooling, self.mean, self.deviation = settings.pooling, settings.mean, settings.deviation or 1.0


class TaggerHead(AnswerHead):
    """Tagger head: W dropout(relu(A x + a)) + b at each token, or W dropout(x) + b without a hidden layer."""

    @dataclass(frozen=True)
    class Settings:
        tags: int = setting(0, "number of tags; 0 means as many as the data have", minimum=0, maximum=1_000_000)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)

    predicts = "own"

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        if settings.tags < 2:
            raise SpecError("is too few for a tagger; choose 2 or more", "model.head.tags", settings.tags)
        super().__init__(sizes, settings.hidden, settings.tags)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.answers(features_BTD)
