"""The pictures that a run was not trained on: what a run writes about them, and which texts a dual encoder finds similar.

The candidate captions of scenes are all possible meanings, one caption for each. The candidate captions of other data are
those of the held-out pictures.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data import prepared_data
from glasshouse.data.sources.scenes.captions import english, shortest_wording
from glasshouse.data.sources.scenes.meaning import all_scenes
from glasshouse.data.sources.scenes.pictures import Scenes
from glasshouse.data.user_files.pictures import read_picture
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.records import user_paths
from glasshouse.results.retrieval import RankedPrompt, Retrieval, Retrieved
from glasshouse.runs.run import Run
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tasks.base import Progress, no_progress
from glasshouse.tasks.describe import Describe
from glasshouse.tasks.match import normalise_pictures

# The held-out pictures that are described if none is named.
DEFAULT = tuple(range(6))
BATCH = 256
# Number of most similar captions in a result. If there are no prompts, these captions are used as prompts.
CLOSEST = 5

Target = str | int | PathLike[str] | np.ndarray | None


def held_out(run: Run) -> tuple[np.ndarray, list[str]]:
    """The pictures (M, S, S, 3) of the test split, or of the validation split if that is empty, and their captions."""
    if not run.spec.data.source and not run.spec.data.files:
        raise DataError(f"{run.name} was imported without data and pictures; use a run of glasshouse train scene-clip")
    source = prepared_data.find_source(run.spec.data, ("picture",))
    documents = list(source.documents("test")) or list(source.documents("validation"))
    if not documents:
        raise DataError(f"{run.name} has no held-out pictures; train it with data.test above 0")
    pictures = np.stack([document.picture for document in documents if document.picture is not None])
    return pictures, [document.text for document in documents]


def find(run: Run, target: Target, size: int) -> tuple[np.ndarray, str, str]:
    """(picture, name, caption) of a target: an array, the number of a held-out picture, or a picture file.

    The caption of a picture that is not held-out is empty.
    """
    if isinstance(target, np.ndarray):
        if target.shape != (size, size, 3) or target.dtype != np.uint8:
            raise GlasshouseError(f"the picture is {target.dtype}{target.shape}; make it uint8({size}, {size}, 3)")
        return target, "a picture", ""
    if target is None or isinstance(target, int) or re.fullmatch(r"-?[0-9]+", str(target)):
        (pictures, captions), number = held_out(run), int(str(target or 0))
        if not 0 <= number < len(captions):
            raise GlasshouseError(f"{run.name} has {len(captions)} held-out pictures and no {number}; choose one, or a file")
        return pictures[number], f"held-out picture {number}", captions[number]
    path = user_paths.expand(target)
    return read_picture(path, size), path.name, ""


@dataclass(frozen=True)
class Description:
    """A picture (S, S, 3), its name, what the model writes about it, and its caption in the data, if it has one."""

    picture: np.ndarray
    name: str
    text: str
    caption: str = ""


def describe(run: Run, targets: Sequence[Target] = (), progress: Progress = no_progress) -> list[Description]:
    """Describe pictures: files, numbers of held-out pictures, or uint8 arrays; by default the first held-out ones."""
    task = run.task
    if not isinstance(task, Describe):
        raise GlasshouseError(f"{run.name} describes no pictures; one that does: glasshouse train scene-describer")
    found = [find(run, target, task.size) for target in targets or DEFAULT]
    texts: list[str] = []
    settings = run.spec.evaluation
    for start in range(0, len(found), settings.batch):
        pictures = np.stack([picture for picture, _, _ in found[start : start + settings.batch]])
        texts += task.describe_pictures(run.model, pictures, settings)
        progress(len(texts) / len(found))
    return [Description(picture, name, text, caption) for (picture, name, caption), text in zip(found, texts, strict=True)]


def rank_and_retrieve(run: Run, target: Target = None, prompts: Sequence[str] = (), count: int = 6) -> Retrieval:
    """Rank prompts by their similarity to a picture, and retrieve the `count` most similar pictures for each prompt."""
    model = _check(run)
    picture, name, caption = find(run, target, settings_of(type(model), run.spec.model.own).image_size)
    pictures, captions = held_out(run)
    if isinstance(prepared_data.find_source(run.spec.data, ("picture",)), Scenes):
        candidates = [english(meaning, shortest_wording(meaning)) for meaning in all_scenes()]
    else:
        candidates = list(dict.fromkeys(captions))
    if not any(np.array_equal(other, picture) for other in pictures):
        # The target joins the pictures that are searched.
        pictures, captions = np.concatenate([pictures, picture[None]]), [*captions, name]
    picture_vectors, candidate_vectors = embed_pictures(run, pictures), embed_texts(run, candidates)
    target_vector = embed_pictures(run, picture[None])[0]
    order = (candidate_vectors @ target_vector).sort(descending=True)
    closest = [(candidates[index], float(order.values[rank])) for rank, index in enumerate(order.indices[:CLOSEST])]
    texts = list(dict.fromkeys(prompts)) or [text for text, _ in closest]
    ranked = []
    for prompt, vector in zip(texts, embed_texts(run, texts), strict=True):
        similarity, similarities = float(vector @ target_vector), picture_vectors @ vector
        found = similarities.argsort(descending=True)[: max(count, 0)].tolist()
        retrieved = tuple(
            Retrieved(pictures[index], captions[index], float(similarities[index]), np.array_equal(pictures[index], picture))
            for index in found
        )
        places = _rank_of(order.values, similarity), _rank_of(similarities, similarity)
        ranked.append(RankedPrompt(prompt, similarity, *places, retrieved, _unknown_words(run, prompt)))
    ranked.sort(key=lambda prompt: -prompt.similarity)
    sizes = len(candidates), len(captions)
    return Retrieval(run.name, picture, name, caption, tuple(ranked), tuple(closest), *sizes)


def embed_texts(run: Run, texts: Sequence[str]) -> Tensor:
    return F.normalize(run.embed(list(texts), batch=BATCH).float(), dim=-1).cpu()


@torch.inference_mode()
def embed_pictures(run: Run, pictures_MSSC: np.ndarray) -> Tensor:
    model = _check(run)
    vectors = []
    for start in range(0, len(pictures_MSSC), BATCH):
        features = model.encode_pictures(normalise_pictures(pictures_MSSC[start : start + BATCH]).to(run.device))
        vectors.append(F.normalize(model.head.image(features).float(), dim=-1).cpu())
    return torch.cat(vectors)


def _unknown_words(run: Run, prompt: str) -> tuple[str, ...]:
    """The words of a prompt that are not in the vocabulary of the run's tokenizer."""
    unknown = run.tokenizer.unknown
    if unknown is None:
        return ()
    return tuple(word for word in dict.fromkeys(prompt.split()) if unknown in run.tokenizer.encode(word))


def _check(run: Run) -> DualEncoder:
    if not isinstance(run.model, DualEncoder):
        raise GlasshouseError(
            f"model.kind={run.spec.model.kind!r} is no dual-encoder; glasshouse train scene-clip makes one"
        )
    return run.model


def _rank_of(others: Tensor, similarity: float) -> int:
    """The rank of a similarity among others, from 1."""
    # The margin absorbs rounding, so that an item that is one of the others does not rank behind itself.
    return int((others > similarity + 1e-6).sum()) + 1
