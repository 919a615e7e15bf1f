"""Public functions about pictures: what a run writes about them, and which prompt fits one best."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.api.opened_run import run_of
from glasshouse.inspection import held_out_pictures, image_retrieval
from glasshouse.inspection.held_out_pictures import Description, Target
from glasshouse.pages import figures, inspection_figures, retrieval_page
from glasshouse.records import atomic_files, progress_bar
from glasshouse.results.retrieval import Retrieval


def describe(
    run: str | PathLike[str],
    pictures: Sequence[Target] = (),
    output: str | PathLike[str] | None = None,
    device: str = "auto",
) -> list[Description]:
    """What a run writes about pictures: files, numbers of held-out pictures, or arrays; by default the first six held-out.

    `output` is an image file that shows each picture with its description.
    """
    if output is not None:
        figures.check_path(Path(output))
    with progress_bar.bar("describing") as bar:
        found = held_out_pictures.describe(run_of(run, device), pictures, bar)
    if output is not None:
        inspection_figures.captioned_pictures([(each.picture, each.text, each.caption) for each in found], Path(output))
    return found


def prompt(
    run: str | PathLike[str],
    prompts: Sequence[str] = (),
    target: Target = None,
    pictures: int = 6,
    output: str | PathLike[str] | None = None,
    device: str = "auto",
) -> tuple[Retrieval, Path]:
    """Rank prompts by their similarity to a picture, retrieve pictures for each prompt, and write a page of the results.

    The target is a picture file, or the number of a held-out picture.
    """
    opened = run_of(run, device)
    path = Path(output) if output else opened.folder.path / "prompting.html"
    retrieval_page.check_path(path)
    with progress_bar.bar("comparing"):
        result = image_retrieval.rank_and_retrieve(opened, target, prompts, pictures)
    if path.suffix == ".html":
        atomic_files.write_text(path, retrieval_page.render(result))
    else:
        retrieval_page.draw(result, path)
    return result, path
