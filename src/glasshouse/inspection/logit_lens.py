"""The logit lens: what the head would predict from the residual stream after each layer (nostalgebraist, 2020).

Axes: R predictions, V outputs.
"""

from dataclasses import dataclass

import torch

from glasshouse.inspection.capture import capture
from glasshouse.inspection.text_input import TextInput


@dataclass(frozen=True)
class LensCell:
    """The likeliest output at a stage and position, and how the model's own prediction ranks there (1 is the likeliest)."""

    name: str
    probability: float
    rank: int
    probability_of_final: float


@dataclass(frozen=True)
class Lens:
    """The predictions of every stage: `cells` has a row per stage and a column per prediction."""

    rows: tuple[str, ...]  # the token at which each prediction is made
    stages: tuple[str, ...]
    cells: tuple[tuple[LensCell, ...], ...]


@torch.inference_mode()
def lens(text: TextInput) -> Lens:
    """Apply the final norm and the head to the residual stream after the embeddings and after each layer.

    If the head does not read the last layer directly (a recurrent model with attention, a classifier with naive Bayes), the
    model's own output is one more stage.
    """
    named = text.stacks[-1].stream_probes()
    with capture(text.model, *(probe for _, probe in named)) as activations:
        output_RV = text.forward()[0].float()
    stages = [(title, text.project(activations[probe])[0].float()) for title, probe in named]
    if not torch.allclose(stages[-1][1], output_RV, atol=1e-4, rtol=1e-4):
        stages.append(("output", output_RV))
    final_R = output_RV.argmax(-1)
    cells = []
    for _, logits_RV in stages:
        probabilities_RV = logits_RV.softmax(-1)
        of_final_R = probabilities_RV.gather(1, final_R[:, None])[:, 0]
        ranks_R = (probabilities_RV > of_final_R[:, None]).sum(-1) + 1
        largest_R, names_R = probabilities_RV.max(-1)
        columns = zip(names_R.tolist(), largest_R.tolist(), ranks_R.tolist(), of_final_R.tolist(), strict=True)
        cells.append(tuple(LensCell(text.output_name(output), *values) for output, *values in columns))
    return Lens(text.rows, tuple(title for title, _ in stages), tuple(cells))
