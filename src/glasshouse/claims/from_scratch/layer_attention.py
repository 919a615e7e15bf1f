"""How each layer of a trained model attends, over a whole split: distance, entropy, shares and the strongest column.

Axes: B batch, H heads, Q queries, K keys.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from glasshouse.data import prepared_data
from glasshouse.inspection.capture import capture
from glasshouse.inspection.example_batches import Sequences, example_batches, sequences
from glasshouse.models.head_pruning import attentions
from glasshouse.runs.run import Run

DISTANCE, ENTROPY, PREVIOUS, ITSELF, FIRST, COLUMN = STATISTICS = (
    "distance",
    "entropy",
    "previous",
    "itself",
    "first",
    "column",
)
# What the statistics are for attention that gives every allowed key the same weight.
UNIFORM = "uniform"
# The first queries of a text have hardly anything to attend to.
LEFT_OUT = 4


@torch.inference_mode()
def layer_statistics(run: Run, split: str, examples: int) -> dict[str, float]:
    """ "1/distance" -> mean over heads, queries and texts, for each layer counted from 1, and "uniform/distance"."""
    names = attentions(run.model)
    shard = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits[split]
    totals: dict[str, float] = {}
    texts = 0
    for batch in example_batches(run, shard, examples):
        with capture(run.model, *(f"{name}.weights" for name in names)) as activations:
            run.task.loss_sum(run.model, batch)
        read = sequences(run, batch)[""]
        kept = read.lengths_B > LEFT_OUT
        texts += int(kept.sum())
        maps = {str(layer): activations[f"{name}.weights"].float() for layer, name in enumerate(names, 1)}
        allowed = (maps["1"][:, :1] > 0).float()
        maps[UNIFORM] = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
        for layer, weights in maps.items():
            for name, value_B in text_statistics(weights, read).items():
                totals[f"{layer}/{name}"] = totals.get(f"{layer}/{name}", 0.0) + float(value_B[kept].sum())
    return {key: total / texts for key, total in totals.items()}


def text_statistics(weights_BHQK: Tensor, read: Sequences) -> Mapping[str, Tensor]:
    """Statistic -> one value for each text: means over its heads and its queries, without the first queries."""
    places = torch.arange(weights_BHQK.shape[-1], device=weights_BHQK.device)
    counted_BQ = ((places >= LEFT_OUT) & (places < read.lengths_B[:, None])).float()

    def mean(values_BHQ: Tensor) -> Tensor:
        return ((values_BHQ * counted_BQ[:, None]).sum(-1) / counted_BQ.sum(-1)[:, None]).mean(1)

    offset_QK = places[:, None] - places
    # Of each key: the mean weight of the queries that are counted. The strongest column is the key with the largest one.
    column_BHK = (weights_BHQK * counted_BQ[:, None, :, None]).sum(-2) / counted_BQ.sum(-1)[:, None, None]
    return {
        DISTANCE: mean((weights_BHQK * offset_QK.abs()).sum(-1)),
        ENTROPY: mean(torch.special.entr(weights_BHQK).sum(-1)),
        PREVIOUS: mean((weights_BHQK * (offset_QK == 1)).sum(-1)),
        ITSELF: mean((weights_BHQK * (offset_QK == 0)).sum(-1)),
        FIRST: mean(weights_BHQK[..., 0]),
        COLUMN: column_BHK.amax(-1).mean(1),
    }


@torch.inference_mode()
def strongest_token(run: Run, text: str, layer: int) -> str:
    """The token of a text that the queries of a layer attend to most, over its heads; counted from 1."""
    ids = [int(token) for token in run.tokenizer.encode(text)]
    [name] = [name for number, name in enumerate(attentions(run.model), 1) if number == layer]
    with capture(run.model, f"{name}.weights") as activations:
        run.model(torch.tensor([ids], device=run.device))
    weights_QK = activations[f"{name}.weights"][0].float().mean(0)
    return run.tokenizer.decode([ids[int(weights_QK.mean(0).argmax())]]).strip()
