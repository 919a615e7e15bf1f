"""Classifier: one answer for a whole sequence.

Axes: B batch, T time, D width, V vocabulary, C classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, Shape
from glasshouse.models.heads.pooling import pool
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError


class ClassifierHead(Head):
    """W dropout(norm(relu(A pool(x) + a))) + b; without a hidden layer W dropout(pool(x)) + b.

    With `naive_bayes` = w, an encoder's answers have w (log p(class) + sum log p(token | class)) added, of which the
    probabilities are counted in the training text, each token once more than it occurs. It is not there in training: what
    was counted there knows its classes too well to leave anything to be learned. What learns to tell classes apart and what
    counts err on different texts, the latter less where texts are few (Ng and Jordan, On Discriminative vs. Generative
    Classifiers, 2001).
    """

    prior_C: Tensor
    evidence_VC: Tensor

    def __init__(
        self,
        width: int,
        classes: int,
        pooling: str = "mean",
        hidden: int = 0,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
        naive_bayes: float = 0.0,
        vocabulary: int = 0,
    ) -> None:
        super().__init__()
        self.width, self.hidden_width, self.pooling = width, hidden, pooling
        self.hidden = nn.Linear(width, hidden) if hidden else None
        self.norm = norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(hidden or width, classes)
        self.naive_bayes = naive_bayes
        if naive_bayes:
            self.vocabulary = vocabulary
            self.register_buffer("prior_C", torch.zeros(classes))
            self.register_buffer("evidence_VC", torch.zeros(vocabulary, classes))

    @classmethod
    def build(cls, shape: Shape) -> "ClassifierHead":
        settings = shape.settings
        if settings.classes < 2:
            raise SpecError(f"model.head.classes={settings.classes} is no choice for a classifier; give 2 or more")
        if settings.norm != "none" and not settings.hidden:
            raise SpecError(
                f"model.head.norm={settings.norm!r} normalises the hidden layer, and model.head.hidden is 0; give it a size"
            )
        sizes = Sizes(max(settings.hidden, 1), 1, 1, 1, bias=True, epsilon=shape.epsilon)
        norm = catalogue.find("norm", settings.norm).build(sizes)
        return cls(
            shape.width,
            settings.classes,
            settings.pooling,
            settings.hidden,
            norm,
            shape.dropout,
            settings.naive_bayes,
            shape.vocabulary,
        )

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = pool(features_BTD, self.pooling, lengths_B)
        if self.hidden is not None:
            x = self.norm(F.relu(self.hidden(x)))
        return self.answer(self.dropout(x))

    def informed(self, answer: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        if not self.naive_bayes or self.training:
            return answer
        said_BTC = F.embedding(tokens_BT, self.evidence_VC)
        if lengths_B is not None:
            places_T = torch.arange(tokens_BT.shape[1], device=tokens_BT.device)
            said_BTC = said_BTC * (places_T < lengths_B[:, None])[..., None]
        return answer + self.naive_bayes * (self.prior_C + said_BTC.sum(1))

    def learn_counts(self, tokens_VC: Tensor, texts_C: Tensor) -> None:
        """Let naive Bayes know how often each token and how many texts there are of each class."""
        more_VC = tokens_VC + 1.0
        self.evidence_VC.copy_((more_VC / more_VC.sum(0)).log())
        self.prior_C.copy_((texts_C.clamp(min=1) / texts_C.sum()).log())

    def flops(self, tokens: int) -> int:
        return 2 * (self.width * self.hidden_width + self.answer.weight.numel())
