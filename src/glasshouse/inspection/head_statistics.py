"""Statistics of every attention head over many texts: where it looks, how far, how sharply, and which known kind it is like.

Axes: B batch, H heads, Q queries, K keys, R singular values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.inspection.capture import capture
from glasshouse.inspection.example_batches import Sequences, captured, refuse_pictures, sequences
from glasshouse.models.head_pruning import attentions, layer_number, stack_title
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.base import Batch, Progress, no_progress

# A head is of a kind if at least this share of its attention goes where the kind looks.
KIND_SHARE = 0.4
# A head is positional if places explain at least this share of the variance of its weights.
POSITIONAL_SHARE = 0.8
# Random tokens in a sequence that is repeated once, and the number of such sequences.
REPEATED_TOKENS, REPEATED_SEQUENCES = 24, 16
ENERGY_SHARE = 0.9


@dataclass(frozen=True)
class HeadStatistics:
    """Means over queries and texts. The first two queries of a text are left out: they have hardly anything to look at."""

    attention: str  # the name of the attention in the model
    layer: int
    head: int
    distance: float  # tokens between query and key
    entropy: float  # in nats
    largest: float  # the largest weight of a query
    itself: float
    previous: float
    first: float
    separators: float  # special tokens
    positional: float  # share of the variance that the places explain; NaN if texts have unequal lengths
    induction: float  # from a repeated token to the one that followed it before; NaN if the model predicts no next token
    rank: float  # singular values with 90 % of the energy of a map
    singular_values: tuple[float, ...]  # of a map, from the largest
    energy: tuple[float, ...]  # share of the energy (the sum of squares) in the first 1, 2, 3, ... singular values

    @property
    def layer_title(self) -> str:
        return f"{stack_title(self.attention)} layer {self.layer}".lstrip()

    @property
    def short_title(self) -> str:
        """ "decoder.blocks.1.cross_attention.attention" and head 3 -> "decoder cross 2.3"."""
        return f"{stack_title(self.attention)} {self.layer}.{self.head}".lstrip()

    @property
    def kind(self) -> str:
        """The known kind of head that it is most like; "content" if it looks at different places in different texts."""
        shares = {
            "induction": self.induction,
            "previous token": self.previous,
            "the token itself": self.itself,
            "first token": self.first,
            "separators": self.separators,
        }
        name = max(shares, key=lambda kind: shares[kind] if shares[kind] == shares[kind] else -1.0)
        if shares[name] >= KIND_SHARE:
            return name
        return "positional" if self.positional >= POSITIONAL_SHARE else "content"


class _Sums:
    """Sums over the texts for one attention; the first axis of every tensor is H."""

    def __init__(self) -> None:
        self.queries, self.texts = 0.0, 0
        self.sums: dict[str, Tensor] = {}
        # The sum of the weights and that of their squares, for texts of equal length.
        self.maps: list[Tensor] = []

    def add(self, name: str, value: Tensor) -> None:
        """Add to a sum. Singular values, along a second axis, are zero beyond the last."""
        before = self.sums.get(name, torch.zeros_like(value, dtype=torch.float64))
        size = max(before.shape[-1], value.shape[-1])
        before, value = (F.pad(each, (0, size - each.shape[-1])) for each in (before, value.double()))
        self.sums[name] = before + value


@torch.inference_mode()
def head_statistics(run: Run, batches: Sequence[Batch], progress: Progress = no_progress) -> list[HeadStatistics]:
    """The statistics of every head over these batches."""
    refuse_pictures(run)
    names = [name for name in attentions(run.model) if hasattr(run.model.get_submodule(name), "weights")]
    if not names:
        attention = run.spec.model.attention
        raise GlasshouseError(f"{run.name} has model.attention={attention!r} without weights; try lens or attribute")
    specials = torch.tensor(sorted(run.tokenizer.specials.values()), device=run.device)
    sums = {name: _Sums() for name in names}
    for index, (batch, activations) in enumerate(captured(run, batches, [f"{name}.weights" for name in names])):
        read = sequences(run, batch)
        for name in names:
            weights = activations.pop(f"{name}.weights").float()
            queries = read["encoder" if name.startswith("encoder.") else ""]
            keys = read["encoder"] if "cross_attention" in name else queries
            if weights.shape[-2:] == (queries.ids_BT.shape[1], keys.ids_BT.shape[1]):
                _add(sums[name], weights, queries, keys, specials)
        progress((index + 1) / len(batches))
    induction = _induction(run, names)
    return [row for name in names if sums[name].queries for row in _rows(name, sums[name], induction.get(name))]


def _add(sums: _Sums, weights_BHQK: Tensor, queries: Sequences, keys: Sequences, specials: Tensor) -> None:
    query_count, key_count = weights_BHQK.shape[2:]
    places_Q, places_K = (torch.arange(count, device=weights_BHQK.device) for count in (query_count, key_count))
    counted_BQ = (places_Q < queries.lengths_B[:, None]) & (places_Q >= 2)
    counted_BHQ = counted_BQ[:, None].float()

    def mean_weights(allowed_BQK: Tensor) -> Tensor:
        return ((weights_BHQK * allowed_BQK[:, None]).sum(-1) * counted_BHQ).sum((0, 2))

    distance_QK = (places_Q[:, None] - places_K).abs().float()
    sums.queries += float(counted_BQ.sum())
    sums.texts += len(weights_BHQK)
    sums.add("distance", ((weights_BHQK * distance_QK).sum(-1) * counted_BHQ).sum((0, 2)))
    sums.add("entropy", (torch.special.entr(weights_BHQK).sum(-1) * counted_BHQ).sum((0, 2)))
    sums.add("largest", (weights_BHQK.amax(-1) * counted_BHQ).sum((0, 2)))
    for title, offset in (("itself", 0), ("previous", 1)):
        sums.add(title, mean_weights((places_Q[:, None] - places_K == offset)[None]))
    sums.add("first", mean_weights((places_K == 0).expand(1, query_count, key_count)))
    sums.add("separators", mean_weights(torch.isin(keys.ids_BT, specials)[:, None].expand(-1, query_count, -1)))
    singular_values = torch.linalg.svdvals(weights_BHQK)
    energies = singular_values.square()
    shares = energies.cumsum(-1) / energies.sum(-1, keepdim=True).clamp(min=1e-12)
    sums.add("rank", ((shares < ENERGY_SHARE).sum(-1) + 1.0).sum(0))
    sums.add("singular_values", singular_values.sum(0))
    sums.add("energy", shares.diff(dim=-1, prepend=torch.zeros_like(shares[..., :1])).sum(0))
    if bool((queries.lengths_B == query_count).all()) and query_count == key_count:
        moments = [weights_BHQK.sum(0).double(), weights_BHQK.double().square().sum(0)]
        if not sums.maps:
            sums.maps = moments
        elif sums.maps[0].shape == moments[0].shape:
            sums.maps = [before + moment for before, moment in zip(sums.maps, moments, strict=True)]


def _rows(name: str, sums: _Sums, induction_H: Tensor | None) -> list[HeadStatistics]:
    per_text = ("rank", "singular_values", "energy")
    mean = {title: total / (sums.texts if title in per_text else sums.queries) for title, total in sums.sums.items()}
    singular_values, energy = mean.pop("singular_values"), mean.pop("energy").cumsum(-1)
    unknown = torch.full((len(energy),), torch.nan)
    mean["positional"] = _positional(sums) if sums.maps and sums.texts > 1 else unknown
    mean["induction"] = unknown if induction_H is None else induction_H
    return [
        HeadStatistics(
            name,
            layer_number(name),
            head + 1,
            singular_values=tuple(singular_values[head].tolist()),
            energy=tuple(energy[head].tolist()),
            **{title: float(total[head]) for title, total in mean.items()},
        )
        for head in range(len(energy))
    ]


def _positional(sums: _Sums) -> Tensor:
    """The share of the variance around uniform attention that the mean map explains."""
    mean_HQK, square_HQK = (total / sums.texts for total in sums.maps)
    allowed_HQK = mean_HQK > 0
    uniform_HQK = allowed_HQK / allowed_HQK.sum(-1, keepdim=True).clamp(min=1)
    within_H = (square_HQK - mean_HQK.square()).clamp(min=0).sum((1, 2))
    total_H = (square_HQK - 2 * mean_HQK * uniform_HQK + uniform_HQK.square()).sum((1, 2))
    return 1 - within_H / total_H.clamp(min=1e-12)


def _induction(run: Run, names: Sequence[str]) -> dict[str, Tensor]:
    """For each self-attention of a model that predicts next tokens: the mean weight from a repeated token to the token after
    its first occurrence, in sequences of random tokens that are repeated once."""
    model = run.model
    length = min(REPEATED_TOKENS, run.spec.data.context // 2)
    if model.reads != "text" or model.head.predicts != "next" or length < 4:
        return {}
    generator = torch.Generator().manual_seed(0)
    half = torch.randint(0, run.tokenizer.vocabulary, (REPEATED_SEQUENCES, length), generator=generator)
    tokens = torch.cat([half, half], 1).to(run.device)
    with capture(model, *(f"{name}.weights" for name in names)) as activations:
        model(tokens)
    queries = torch.arange(length, 2 * length - 1, device=run.device)
    return {
        name: activations[f"{name}.weights"].float()[:, :, queries, queries - length + 1].mean((0, 2)).cpu()
        for name in names
    }
