"""The log-probability of every token of a prompt, given the tokens before it.

Axes: B prompts, T tokens, V vocabulary.
"""

from typing import Any

import torch

from glasshouse.generation.engine import SampledToken

# Logits are formed for so many tokens at a time: those of a long prompt with a large vocabulary need gigabytes.
TOKENS_AT_A_TIME = 512


@torch.inference_mode()
def prompt_scores(
    model: Any, prompts: list[list[int]], alternatives: int = 0, vocabulary: int | None = None
) -> list[list[SampledToken | None]]:
    """For each prompt its tokens with their log-probabilities; None for the first, which nothing precedes."""
    device = next(model.parameters()).device
    scores: list[list[SampledToken | None]] = []
    for prompt in prompts:
        tokens = torch.tensor([prompt], device=device)
        features = model.features(tokens)[0]
        row: list[SampledToken | None] = [None]
        for begin in range(0, len(prompt) - 1, TOKENS_AT_A_TIME):
            end = min(begin + TOKENS_AT_A_TIME, len(prompt) - 1)
            logits = model.project(features[begin:end][None])[0].float()[:, :vocabulary]
            log_probabilities = logits.log_softmax(-1)
            following = tokens[0, begin + 1 : end + 1]
            chosen = log_probabilities.gather(-1, following[:, None])[:, 0].tolist()
            top = log_probabilities.topk(min(alternatives, log_probabilities.shape[-1]), dim=-1)
            for token, value, indices, values in zip(
                following.tolist(), chosen, top.indices.tolist(), top.values.tolist(), strict=True
            ):
                row.append(SampledToken(token, value, tuple(zip(indices, values, strict=True))))
        scores.append(row)
    return scores
