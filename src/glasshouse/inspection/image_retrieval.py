"""Image retrieval with a dual encoder: ranks texts by similarity to a picture, and pictures by similarity to a text.

The pictures are the held-out pictures of the run's data. The candidate captions of scenes are all possible meanings, one
caption for each. The candidate captions of other data are those of the held-out pictures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glasshouse.data.sources.scenes.captions import english, shortest_wording
from glasshouse.data.sources.scenes.meaning import all_scenes
from glasshouse.data.sources.scenes.pictures import Scenes
from glasshouse.inspection import held_out_pictures
from glasshouse.inspection.held_out_pictures import Target
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.results.retrieval import RankedPrompt, Retrieval, Retrieved
from glasshouse.runs.run import Run
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.match import normalise_pictures

BATCH = 256
# Number of most similar captions in a result. If there are no prompts, these captions are used as prompts.
CLOSEST = 5


@dataclass(frozen=True)
class HeldOut:
    """Held-out pictures (M, S, S, 3) with their captions, and the candidate captions."""

    pictures: np.ndarray
    captions: list[str]
    candidates: list[str]


def rank_and_retrieve(run: Run, target: Target = None, prompts: Sequence[str] = (), count: int = 6) -> Retrieval:
    """Rank prompts by their similarity to a picture, and retrieve the `count` most similar pictures for each prompt."""
    model = _check(run)
    picture, name, caption = held_out_pictures.find(run, target, settings_of(type(model), run.spec.model.own).image_size)
    held = held_out(run)
    if not any(np.array_equal(other, picture) for other in held.pictures):
        # The target joins the pictures that are searched.
        held = replace(held, pictures=np.concatenate([held.pictures, picture[None]]), captions=[*held.captions, name])
    picture_vectors, candidate_vectors = embed_pictures(run, held.pictures), embed_texts(run, held.candidates)
    target_vector = embed_pictures(run, picture[None])[0]
    order = (candidate_vectors @ target_vector).sort(descending=True)
    closest = [(held.candidates[index], float(value)) for value, index in zip(order.values[:CLOSEST], order.indices)]  # noqa: B905
    texts = list(dict.fromkeys(prompts)) or [text for text, _ in closest]
    ranked = []
    for prompt, vector in zip(texts, embed_texts(run, texts), strict=True):
        similarity, similarities = float(vector @ target_vector), picture_vectors @ vector
        retrieved = [
            Retrieved(
                held.pictures[index],
                held.captions[index],
                float(similarities[index]),
                is_target=np.array_equal(held.pictures[index], picture),
            )
            for index in similarities.argsort(descending=True)[: max(count, 0)].tolist()
        ]
        places = _rank_of(order.values, similarity), _rank_of(similarities, similarity)
        ranked.append(RankedPrompt(prompt, similarity, *places, tuple(retrieved), unknown_words(run, prompt)))
    ranked.sort(key=lambda prompt: -prompt.similarity)
    sizes = len(held.candidates), len(held.captions)
    return Retrieval(run.name, picture, name, caption, tuple(ranked), tuple(closest), *sizes)


def held_out(run: Run) -> HeldOut:
    """The pictures of the test split of a run's data, or of the validation split if the test split is empty."""
    _check(run)
    documents = held_out_pictures.documents(run)
    captions = [document.text for document in documents]
    pictures = np.stack([document.picture for document in documents if document.picture is not None])
    if isinstance(held_out_pictures.source(run), Scenes):
        return HeldOut(pictures, captions, [english(meaning, shortest_wording(meaning)) for meaning in all_scenes()])
    return HeldOut(pictures, captions, list(dict.fromkeys(captions)))


def embed_texts(run: Run, texts: Sequence[str]) -> Tensor:
    """The unit vectors (N, D) of texts."""
    _check(run)
    return F.normalize(run.embed(list(texts), batch=BATCH).float(), dim=-1).cpu()


@torch.inference_mode()
def embed_pictures(run: Run, pictures_MSSC: np.ndarray) -> Tensor:
    """The unit vectors (M, D) of uint8 pictures."""
    model = _check(run)
    vectors = []
    for start in range(0, len(pictures_MSSC), BATCH):
        features = model.encode_pictures(normalise_pictures(pictures_MSSC[start : start + BATCH]).to(run.device))
        vectors.append(F.normalize(model.head.image(features).float(), dim=-1).cpu())
    return torch.cat(vectors)


def unknown_words(run: Run, prompt: str) -> tuple[str, ...]:
    """The words of a prompt that are not in the vocabulary of the run's tokenizer."""
    unknown = run.tokenizer.unknown
    if unknown is None:
        return ()
    return tuple(word for word in dict.fromkeys(prompt.split()) if unknown in run.tokenizer.encode(word))


def _check(run: Run) -> DualEncoder:
    if not isinstance(run.model, DualEncoder):
        raise GlasshouseError(
            f"{run.name} has model.kind={run.spec.model.kind!r}, but comparing texts with pictures needs 'dual-encoder'; "
            "train one with: glasshouse train scene-clip"
        )
    return run.model


def _rank_of(others: Tensor, similarity: float) -> int:
    """The rank of a similarity among others, from 1."""
    # The margin absorbs rounding, so that an item that is one of the others does not rank behind itself.
    return int((others > similarity + 1e-6).sum()) + 1
