"""Public functions that look inside a run: attention maps, head statistics, logit lens, attributions, patching, pruning."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glasshouse.inspection import activation_patching, attribution, exploration, importance, logit_lens, pruning
from glasshouse.inspection import gradients as run_gradients
from glasshouse.inspection import head_statistics as statistics
from glasshouse.inspection.activation_patching import Patching
from glasshouse.inspection.attention_maps import attention_map
from glasshouse.inspection.attribution import Attribution, DirectAttribution
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.inspection.gradients import Gradients
from glasshouse.inspection.head_statistics import HeadStatistics
from glasshouse.inspection.importance import HeadImportance, LayerImportance
from glasshouse.inspection.logit_lens import Lens
from glasshouse.inspection.pruning import PruningCurve
from glasshouse.inspection.text_input import TextInput
from glasshouse.pages import attention_page, explorer_page, figures, inspection_figures, line_charts
from glasshouse.records import atomic_files, progress_bar
from glasshouse.records.user_paths import StrPath
from glasshouse.results.report import AttentionMap
from glasshouse.runs.run import run_of
from glasshouse.specs.errors import GlasshouseError

ATTRIBUTIONS = (*attribution.METHODS, "direct")


def look(
    run: StrPath,
    text: str,
    layer: int | None = None,
    head: int | None = None,
    attention: str = "",
    output: StrPath | None = None,
    device: str = "auto",
) -> tuple[AttentionMap, Path]:
    """Write the attention maps of a text: a page (.html) or a figure (.svg, .png); by default attention.html in the run.

    Layers and heads count from 1. `attention` is for encoder-decoders: cross (the default), encoder or decoder.
    """
    opened = run_of(run, device)
    path = Path(output) if output else opened.folder.path / "attention.html"
    attention_page.check_path(path)
    maps = attention_map(opened, text, attention, layer)
    if head is not None:
        heads = maps.weights.shape[1]
        if not 1 <= head <= heads:
            raise GlasshouseError(f"{opened.name} has no head {head}; choose 1 to {heads}")
        maps = replace(maps, weights=maps.weights[:, head - 1 : head])
    attention_page.write(maps, path, opened.name, layer or 1, head or 1)
    return maps, path


def explore(run: StrPath, text: str, output: StrPath | None = None, device: str = "auto") -> Path:
    """Write the explorer of a text: a page that follows each token through every step of the model, with its numbers.

    By default it is explorer.html in the run.
    """
    opened = run_of(run, device)
    path = Path(output) if output else opened.folder.path / "explorer.html"
    atomic_files.check_output(path, (".html",))
    atomic_files.write_text(path, explorer_page.render(exploration.explore(opened, text)))
    return path


def head_statistics(
    run: StrPath, data: StrPath | None = None, examples: int = 0, output: StrPath | None = None, device: str = "auto"
) -> list[HeadStatistics]:
    """Where every head looks, how far and how sharply, over the held-out data of the run or over a file.

    `examples` of them are read, or all if it is 0. `output` is a file for a figure, .svg or .png: the share of the energy of
    each map in its first singular values.
    """
    figures.check_path(output)
    with progress_bar.bar("reading") as bar:
        opened = run_of(run, device)
        rows = statistics.head_statistics(opened, held_out_batches(opened, data, examples), bar)
    if output:
        curves: dict[str, dict[str, tuple[float, ...]]] = {}
        for row in rows:
            curves.setdefault(row.layer_title, {})[f"head {row.head}"] = row.energy
        inspection_figures.energies(curves, Path(output))
    return rows


def lens(run: StrPath, text: str, output: StrPath | None = None, device: str = "auto") -> Lens:
    """What the head of the model would predict after each layer; `output` is a file for a figure, .svg or .png."""
    figures.check_path(output)
    result = logit_lens.lens(TextInput(run_of(run, device), text))
    if output:
        names = [[cell.name for cell in row] for row in result.cells]
        probabilities = [[cell.probability for cell in row] for row in result.cells]
        inspection_figures.lens(result.rows, result.stages, names, probabilities, Path(output))
    return result


def attribute(
    run: StrPath,
    text: str,
    method: str = "integrated-gradients",
    position: int | None = None,
    target: str | None = None,
    output: StrPath | None = None,
    device: str = "auto",
) -> Attribution | DirectAttribution:
    """What a prediction drew on: a score per token, or with method="direct" the part of each head and layer in its logit.

    `position` is the token at which the prediction is made, counted from 1, by default the last; `target` is the token,
    class or picture to explain, by default the predicted one.
    """
    if method not in ATTRIBUTIONS:
        raise GlasshouseError(f"is not one of: {', '.join(ATTRIBUTIONS)}", "method", method)
    figures.check_path(output)
    opened = TextInput(run_of(run, device), text)
    prediction = opened.prediction(position, target)
    title = f"{prediction.name!r} (probability {prediction.probability:.3f}, logit {prediction.logit:.3f})"
    if method == "direct":
        parts = attribution.direct_attribution(opened, prediction)
        if output:
            bars = {component.title: component.value for component in parts.components}
            inspection_figures.bars(
                list(bars), list(bars.values()), Path(output), f"The parts of the logit of {title}", "part of the logit"
            )
        return parts
    with progress_bar.bar("integrating"):
        scores = attribution.METHODS[method](opened, prediction)
    if output:
        names = [inspection_figures.attention_heatmap.label(token) for token in scores.tokens]
        heading = f"What the prediction {title} drew on: {scores.method}"
        inspection_figures.bars(names, scores.scores, Path(output), heading, "score of the token", monospace=True)
    return scores


def patch(
    run: StrPath,
    clean: str,
    corrupt: str,
    position: int | None = None,
    target: str | None = None,
    against: str | None = None,
    output: StrPath | None = None,
    device: str = "auto",
) -> Patching:
    """Which activations carry the difference between two texts of equally many tokens: each is put from the clean text into
    the corrupt one, and the share of the outcome that returns is measured."""
    figures.check_path(output)
    with progress_bar.bar("patching") as bar:
        result = activation_patching.patch(run_of(run, device), clean, corrupt, position, target, against, bar)
    if output:
        maps = {one.title: (one.rows, one.columns, one.restored) for one in result.maps}
        title = f"What returns of {result.clean.name!r} if activations of the clean text are put into the corrupt one"
        inspection_figures.heat_maps(maps, Path(output), title, "restored share")
    return result


def heads(
    run: StrPath,
    methods: Sequence[str] | None = None,
    data: StrPath | None = None,
    examples: int = 128,
    replacement: str = "zero",
    output: StrPath | None = None,
    device: str = "auto",
) -> HeadImportance:
    """How important every head is, by ablation, gradient and attention, and how well the estimates predict the damage.

    `methods` chooses some of the three; by default all are used.
    """
    figures.check_path(output)
    with progress_bar.bar("measuring heads") as bar:
        opened = run_of(run, device)
        batches = held_out_batches(opened, data, examples)
        result = importance.head_importance(opened, batches, methods or importance.METHODS, replacement, bar)
    if output:
        method, scores = next(iter(result.scores.items()))
        order = list(reversed(result.order(method)))
        names, values = [result.heads[index].title for index in order], [scores[index] for index in order]
        titles = {"ablation": "rise of the loss without the head", "gradient": "mean size of the derivative of the loss"}
        about = titles.get(method, "mean of the largest weight")
        inspection_figures.bars(names, values, Path(output), f"Importance of heads by {method}", about)
    return result


def layers(
    run: StrPath,
    data: StrPath | None = None,
    examples: int = 128,
    replacement: str = "zero",
    output: StrPath | None = None,
    device: str = "auto",
) -> LayerImportance:
    """The rise of the loss without each layer, without its attention, and without its feed-forward part."""
    figures.check_path(output)
    with progress_bar.bar("removing layers") as bar:
        opened = run_of(run, device)
        result = importance.layer_importance(opened, held_out_batches(opened, data, examples), replacement, bar)
    if output:
        names, values = [one.title for one in result.layers], [one.damage for one in result.layers]
        heading = "Importance of layers and their parts"
        inspection_figures.bars(names, values, Path(output), heading, "rise of the loss without it")
    return result


def pruning_curves(
    run: StrPath,
    methods: Sequence[str] | None = None,
    data: StrPath | None = None,
    examples: int = 128,
    then_train: int = 0,
    output: StrPath | None = None,
    device: str = "auto",
) -> list[PruningCurve]:
    """The loss against the share of heads removed, in the order of each method and in a random order.

    With `then_train`, also the loss after further training for this number of steps. `output` is a file for a figure.
    """
    figures.check_path(output)
    if then_train < 0:
        raise GlasshouseError("is below 0; choose a number of steps", "then_train", then_train)
    orders = (*methods, pruning.RANDOM) if methods else pruning.ORDERS
    with progress_bar.bar("removing heads") as bar:
        opened = run_of(run, device)
        curves = pruning.pruning_curves(opened, held_out_batches(opened, data, examples), orders, then_train, bar)
    if output:
        lines = {f"by {one.order}": {point.share: (point.loss,) * 3 for point in one.points} for one in curves}
        for one in curves if then_train else ():
            lines[f"by {one.order}, trained further"] = {point.share: (point.trained_loss,) * 3 for point in one.points}
        chart = line_charts.settings_chart(lines, "share of the heads removed", "loss")
        figures.draw({"": chart}, Path(output))
    return curves


def gradients(
    run: StrPath,
    data: StrPath | None = None,
    examples: int = 16,
    output: StrPath | None = None,
    device: str = "auto",
    against: str | None = None,
) -> list[Gradients]:
    """The gradients of a run at initialisation and at its checkpoints: norms by layer, Jacobians through depth and time.

    With `against`, such as "model.layers=2,8,24", those of new models like it for each of these values.
    """
    figures.check_path(output)
    opened = run_of(run, device)
    with progress_bar.bar("differentiating") as bar:
        batches = held_out_batches(opened, data, examples)
        if against is None:
            results = run_gradients.gradients(opened, batches, bar)
        else:
            results = run_gradients.initial_gradients(opened, against, batches, bar)
    if output:
        norms = {one.state: {layer.layer: layer.norm for layer in one.layers} for one in results}
        inspection_figures.gradients(
            norms,
            {one.state: [(spread.place, spread.largest, spread.median) for spread in one.depth] for one in results},
            {one.state: [(spread.place, spread.largest, spread.median) for spread in one.time] for one in results},
            Path(output),
        )
    return results
