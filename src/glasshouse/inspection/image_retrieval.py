"""Prompting: hold texts against a picture, and see which pictures each of them finds.

Pictures to find are those that the run's data hold out. Captions to compare with are, for scenes, all that can be drawn, one
for each meaning, and otherwise those of the held-out pictures.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data import prepared_data
from glasshouse.data.documents import Source
from glasshouse.data.sources.scenes import english
from glasshouse.data.sources.scenes.meaning import scenes
from glasshouse.data.sources.scenes.pictures import Scenes
from glasshouse.data.sources.scenes.wordings import plain
from glasshouse.data.user_files.pictures import read_picture
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.pages.retrieval_page import Answer, Retrieval, Retrieved
from glasshouse.runs.run import Run
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.match import normal

BATCH = 256
# Of all captions, how many of the closest are named; without prompts, they are the prompts.
CLOSEST = 5

Target = str | int | PathLike[str] | np.ndarray | None


@dataclass(frozen=True)
class HeldOut:
    """The pictures (M, S, S, 3) that a run was not trained on, with their captions, and all captions to compare with."""

    pictures: np.ndarray
    captions: list[str]
    candidates: list[str]


def rank(run: Run, target: Target, prompts: Sequence[str] | None = None) -> list[tuple[str, float]]:
    """(prompt, similarity to the picture), best first; without prompts, all captions to compare with.

    The target is a picture file, the number of a held-out picture, or a picture (S, S, 3) in bytes.
    """
    texts = list(prompts) if prompts else held_out(run).candidates
    picture, _, _ = _target(run, target)
    similarities = (of_texts(run, texts) @ of_pictures(run, picture[None])[0]).tolist()
    return sorted(zip(texts, similarities, strict=True), key=lambda pair: -pair[1])


def retrieve(run: Run, prompt: str, count: int = 6) -> list[Retrieved]:
    """The held-out pictures most similar to a prompt, best first."""
    held = held_out(run)
    return _retrieved(held, of_pictures(run, held.pictures) @ of_texts(run, [prompt])[0], None, count)


def examine(run: Run, target: Target = None, prompts: Sequence[str] = (), count: int = 6) -> Retrieval:
    """A picture and prompts from both sides: how similar, at which place among captions, and what each prompt finds."""
    picture, name, caption = _target(run, target)
    held = held_out(run)
    if not any(np.array_equal(each, picture) for each in held.pictures):  # then it is found among these too
        held = replace(held, pictures=np.concatenate([held.pictures, picture[None]]), captions=[*held.captions, name])
    seen, words = of_pictures(run, held.pictures), of_texts(run, held.candidates)
    aim = of_pictures(run, picture[None])[0]
    order = (words @ aim).sort(descending=True)
    closest = [(held.candidates[index], float(value)) for value, index in zip(order.values[:CLOSEST], order.indices)]  # noqa: B905
    asked = list(dict.fromkeys(prompts)) or [text for text, _ in closest]
    answers = []
    for prompt, vector in zip(asked, of_texts(run, asked), strict=True):
        similarity, found = float(vector @ aim), seen @ vector
        answers.append(
            Answer(
                prompt,
                similarity,
                caption_place=_place(order.values, similarity),
                picture_place=_place(found, similarity),
                retrieved=tuple(_retrieved(held, found, picture, count)),
                unknown=unknown_words(run, prompt),
            )
        )
    answers.sort(key=lambda answer: -answer.similarity)
    sizes = len(held.candidates), len(held.captions)
    return Retrieval(run.name, picture, name, caption, tuple(answers), tuple(closest), *sizes)


def held_out(run: Run) -> HeldOut:
    """The test pictures of a run's data, or those of validation where none are kept for testing."""
    _check(run)
    source = _source(run)
    documents = list(source.documents("test")) or list(source.documents("validation"))
    if not documents:
        raise DataError("nothing-held-out", f"{run.name} holds out no pictures to find; train it with data.test above 0")
    captions = [document.text for document in documents]
    pictures = np.stack([document.picture for document in documents if document.picture is not None])
    if isinstance(source, Scenes):
        return HeldOut(pictures, captions, [english.caption(meaning, plain(meaning)) for meaning in scenes()])
    return HeldOut(pictures, captions, list(dict.fromkeys(captions)))


def of_texts(run: Run, texts: Sequence[str]) -> Tensor:
    """Texts as vectors (N, D) of length one."""
    _check(run)
    return F.normalize(run.embed(list(texts), batch=BATCH).float(), dim=-1).cpu()


@torch.inference_mode()
def of_pictures(run: Run, pictures_MSSC: np.ndarray) -> Tensor:
    """Pictures in bytes as vectors (M, D) of length one."""
    model = _check(run)
    found = []
    for begin in range(0, len(pictures_MSSC), BATCH):
        features = model.of_pictures(normal(pictures_MSSC[begin : begin + BATCH]).to(run.device))
        found.append(F.normalize(model.head.image(features).float(), dim=-1).cpu())
    return torch.cat(found)


def unknown_words(run: Run, prompt: str) -> tuple[str, ...]:
    """Words of a prompt that the run's tokenizer does not have."""
    unknown = run.tokenizer.unknown
    if unknown is None:
        return ()
    return tuple(word for word in dict.fromkeys(prompt.split()) if unknown in run.tokenizer.encode(word))


def _check(run: Run) -> DualEncoder:
    if not isinstance(run.model, DualEncoder):
        raise GlasshouseError(
            "not-a-dual-encoder",
            f"{run.name} is a model of kind {run.spec.model.kind!r}, which does not hold texts against pictures; "
            "a dual encoder does: glasshouse train scene-clip",
        )
    return run.model


def _source(run: Run) -> Source:
    if not run.spec.data.source and not run.spec.data.files:
        raise DataError(
            "no-data",
            f"{run.name} was imported and has no pictures of its own to find, nor is it known how it takes them; "
            "use a run that was trained here: glasshouse train scene-clip",
        )
    return prepared_data.source_of(run.spec.data, ("picture",))


def _target(run: Run, target: Target) -> tuple[np.ndarray, str, str]:
    """(picture, what it is, its caption): of a file, by number among the held-out ones, or given."""
    _check(run)
    size = settings_of(DualEncoder, run.spec.model.own).image_size
    if isinstance(target, np.ndarray):
        if target.shape != (size, size, 3) or target.dtype != np.uint8:
            raise GlasshouseError(
                "wrong-picture-shape",
                f"a picture of shape {target.shape} and type {target.dtype} was given, and {run.name} takes "
                f"({size}, {size}, 3) in bytes (uint8)",
            )
        return target, "a picture", ""
    if target is None or isinstance(target, int) or re.fullmatch(r"-?[0-9]+", str(target)):
        held, number = held_out(run), int(str(target or 0))
        if not 0 <= number < len(held.captions):
            raise GlasshouseError(
                "unknown-picture",
                f"there is no held-out picture {number}: {run.name} has {len(held.captions)}, numbered from 0; "
                "give one of these, or a picture file",
            )
        return held.pictures[number], f"held-out picture {number}", held.captions[number]
    path = Path(target).expanduser()
    return read_picture(path, size), path.name, ""


def _place(others: Tensor, similarity: float) -> int:
    # A little room, so that a text or picture that stands among the others itself is not counted before itself.
    return int((others > similarity + 1e-6).sum()) + 1


def _retrieved(held: HeldOut, similarities: Tensor, target: np.ndarray | None, count: int) -> list[Retrieved]:
    order = similarities.argsort(descending=True)[: max(count, 0)].tolist()
    return [
        Retrieved(
            held.pictures[index],
            held.captions[index],
            float(similarities[index]),
            target is not None and np.array_equal(held.pictures[index], target),
        )
        for index in order
    ]
