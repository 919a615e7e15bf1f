"""What the layers of a run predict, what a prediction drew on, and how gradients pass through it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import glasshouse
from glasshouse.cli.options import Data, Device, Figure, Position, Run, Text, option, writes_output
from glasshouse.cli.tables import console, show
from glasshouse.formatting import visible

# The last predictions of a text that `lens` prints, and the most effective patches of each map.
PREDICTIONS_SHOWN, PATCHES_SHOWN = 4, 3
# Characters of the longest bar.
BAR = 24
# The distances in time that `gradients` prints.
DISTANCES = (0, 1, 2, 4, 8, 16, 31)


@writes_output
def lens(
    run: Run,
    text: Text,
    output: Annotated[Path | None, option("A file for a figure of all positions, .svg or .png.")] = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Apply the final norm and the head to the residual stream after each layer (the logit lens).

    The table shows the likeliest output of each layer with its probability, and the rank of the model's own prediction.

    Examples:
        glasshouse lens demo-lm --text "The state of the union is"
        glasshouse lens demo-lm --text "The state of the union is" --output lens.svg
    """
    result = glasshouse.lens(run, text, output, device)
    yield result
    first = max(len(result.rows) - PREDICTIONS_SHOWN, 0)
    titles = [f"after {visible(token)}" if token else "the whole text" for token in result.rows[first:]]
    rows = [
        (stage, *(f"{visible(cell.name)} {cell.probability:.2f} ({cell.rank:,})" for cell in cells[first:]))
        for stage, cells in zip(result.stages, result.cells, strict=True)
    ]
    show(("layer", *titles), rows)
    console.print("output, its probability (rank of the model's own prediction)")


@writes_output
def attribute(
    run: Run,
    text: Text,
    method: Annotated[
        str, option("integrated-gradients, gradient-x-input, or direct (heads and layers instead of tokens).")
    ] = "integrated-gradients",
    position: Position = None,
    target: Annotated[
        str | None, option("The token, class or picture number to explain; default: the predicted one.")
    ] = None,
    output: Figure = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Score each token by what it adds to the logit of a prediction, or each head and layer with --method direct.

    The scores of integrated gradients sum to the logit minus that of a text of mask or end-of-text tokens. The parts of the
    direct method sum to the logit.

    Examples:
        glasshouse attribute demo-lm --text "The state of the union is"
        glasshouse attribute presidents --text "We will fight" --method gradient-x-input --output scores.svg
        glasshouse attribute demo-lm --text "The state of the" --target " union" --method direct
    """
    result = glasshouse.attribute(run, text, method, position, target, output, device)
    yield result
    prediction = result.prediction
    console.print(
        f"prediction: {visible(prediction.name)} (probability {prediction.probability:.4f}, logit {prediction.logit:.4f})"
    )
    pairs = result.rows()
    largest = max(max(abs(value) for _, value in pairs), 1e-12)
    bars = [("█" if value >= 0 else "░") * round(BAR * abs(value) / largest) for _, value in pairs]
    rows = [(name, f"{value:+.4f}", bar) for (name, value), bar in zip(pairs, bars, strict=True)]
    show(("part" if method == "direct" else "token", "score", ""), rows, right=(1,))
    console.print(result.summary())


@writes_output
def patch(
    run: Run,
    clean: Annotated[str, option("The text whose activations are inserted.")],
    corrupt: Annotated[str, option("The text into which they are inserted; it has as many tokens.")],
    position: Position = None,
    target: Annotated[str | None, option("The output of the clean text; default: its prediction.")] = None,
    against: Annotated[str | None, option("The output of the corrupt text; default: its prediction.")] = None,
    output: Annotated[Path | None, option("A file for heat maps of all patches, .svg or .png.")] = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Insert activations of a clean text into a corrupt one, one layer and token or head at a time (activation patching).

    The outcome is the logit of the target minus that of the other output. A patch that restores 1 brings back the outcome of
    the clean text; one that restores 0 changes nothing.

    Examples:
        glasshouse patch stories --clean "a little girl named" --corrupt "a little boy named"
        glasshouse patch demo-lm --clean "The state of the union" --corrupt "The state of the world" --output patch.svg
    """
    import numpy as np

    result = glasshouse.patch(run, clean, corrupt, position, target, against, output, device)
    maps = [
        {"title": one.title, "rows": one.rows, "columns": one.columns, "restored": one.restored.tolist()}
        for one in result.maps
    ]
    outcomes = {"clean_outcome": result.clean_outcome, "corrupt_outcome": result.corrupt_outcome}
    yield {"clean": result.clean.name, "corrupt": result.corrupt.name, **outcomes, "maps": maps}
    names = visible(result.clean.name), visible(result.corrupt.name)
    meaning = f"logit of {names[0]}" + (f" minus logit of {names[1]}" if names[0] != names[1] else "")
    console.print(f"outcome ({meaning}): clean {result.clean_outcome:.3f}, corrupt {result.corrupt_outcome:.3f}")
    rows = []
    for one in result.maps:
        order = np.argsort(-np.nan_to_num(one.restored, nan=-np.inf), axis=None)[:PATCHES_SHOWN]
        for index in order:
            row, column = np.unravel_index(index, one.restored.shape)
            place = ("head " if one.of_heads else "") + visible(one.columns[column])
            rows.append((one.title, one.rows[row], place, f"{one.restored[row, column]:.2f}"))
    show(("most effective patches", "layer", "token or head", "restored"), rows, right=(3,))


@writes_output
def gradients(
    run: Run,
    data: Data = None,
    examples: Annotated[int, option("The number of examples for the norms.", low=1, high=10**9)] = 16,
    against: Annotated[
        str | None, option("Compare new models like that of the run for these values of a field.", metavar="FIELD=V1,V2,...")
    ] = None,
    output: Figure = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Show the gradients of a run with its initial weights and at each checkpoint that it has kept.

    The first table has the norm of the loss's gradient by the weights of each layer. The second has the largest and the
    median singular value of Jacobians: of the last token's state by its own embedding, and by that of earlier tokens. Values
    far below 1 vanish, values far above 1 explode. Set training.checkpoint_every to keep more checkpoints.

    With --against, the gradients of new models are compared instead: for other widths, depths, activations or norms.

    Examples:
        glasshouse gradients demo-lm
        glasshouse gradients demo-lm --examples 64 --output gradients.svg
        glasshouse gradients demo-lm --against model.layers=2,8,24
        glasshouse gradients demo-lm --against model.norm=layer,none
    """
    from glasshouse.api import inspection

    results = inspection.gradients(run, data, examples, output, device, against)
    yield results
    states = [one.state for one in results]
    norms = {one.state: {layer.layer: layer.norm for layer in one.layers} for one in results}
    deepest = max(results, key=lambda one: len(one.layers))
    rows = [
        (layer.layer, *(f"{norms[state][layer.layer]:.4g}" if layer.layer in norms[state] else "" for state in states))
        for layer in deepest.layers
    ]
    show(("norm of the gradient", *states), rows, right=range(1, 1 + len(states)))
    places = [("depth", f"layer {spread.place}", spread.place) for spread in deepest.depth]
    places += [
        ("time", f"{spread.place} tokens earlier", spread.place) for spread in deepest.time if spread.place in DISTANCES
    ]
    table = []
    for kind, title, place in places:
        by_state = [{spread.place: spread for spread in getattr(one, kind)}.get(place) for one in results]
        cells = [f"{spread.largest:.3g} ({spread.median:.3g})" if spread else "" for spread in by_state]
        table.append((title, *cells))
    show(("singular values, largest (median)", *states), table, right=range(1, 1 + len(states)))
