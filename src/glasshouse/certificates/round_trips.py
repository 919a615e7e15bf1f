"""Round trips: a run is exported and run by another program or imported again. Knows no tolerance."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glasshouse import models
from glasshouse.interop import gguf_models, huggingface
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.llms.llama_cpp_server import start_server
from glasshouse.models.heads.pooling import pool
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, MissingExtra
from glasshouse.training.engine import load_weights

Inputs = dict[str, Tensor]
# Prompts that every tokenizer can encode.
PROMPTS = ("The", "In the beginning", "We are", "One day", "It is")
TOKENS = 50


def through_transformers(run: Run, inputs: Inputs, folder: Path) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs of the run, of its export in `transformers`, and of its export after importing it again."""
    huggingface.export(run, folder)
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "comparing with transformers") from None
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = getattr(transformers, config["architectures"][0]).from_pretrained(folder, local_files_only=True).eval()
    inputs = _fit_special_tokens({name: value.cpu() for name, value in inputs.items()}, model.config)
    with torch.inference_mode():
        ours: Tensor = run.model.cpu()(**inputs)
        reimported: Tensor = _build(huggingface.read(folder))(**inputs)
        theirs = _transformers_output(model, inputs, run.model.head.pooling)
    run.model.to(run.device)
    return ours, theirs, reimported


def through_gguf(run: Run, inputs: Inputs, path: Path) -> tuple[Tensor, Tensor]:
    """The outputs of the run and of its export after importing it again."""
    gguf_models.export(run, path)
    inputs = {name: value.cpu() for name, value in inputs.items()}
    with torch.inference_mode():
        outputs = run.model.cpu()(**inputs), _build(gguf_models.read(path))(**inputs)
    run.model.to(run.device)
    return outputs


def through_llama_cpp(run: Run, path: Path) -> tuple[int, int]:
    """The number of tokens in which greedy decoding by llama.cpp differs from ours, and the number of all tokens."""
    # First, because it refuses a model that GGUF cannot express, with or without a tokenizer.
    gguf_models.export(run, path)
    # Beyond the context the two differ by design: Glasshouse restarts with the latest half, llama.cpp shifts the window.
    tokens = min(TOKENS, run.spec.data.context - max(len(run.new_completion(prompt).prompt_tokens) for prompt in PROMPTS))
    if tokens < 1:
        raise CannotExport("leaves no room to continue a prompt; use a longer one", "data.context", run.spec.data.context)
    theirs = greedy_in_llama_cpp(path, PROMPTS, tokens)
    completions = run.sample(PROMPTS, tokens=tokens, temperature=0)
    ours = [[choice.token for choice in completion.choices] for completion in completions]
    differences, end = 0, run.tokenizer.end_of_text
    for our_tokens, their_tokens in zip(ours, theirs, strict=True):
        if end in their_tokens:  # our tokens do not include the end-of-text token
            their_tokens = their_tokens[: their_tokens.index(end)]
        differences += sum(one != other for one, other in zip_longest(our_tokens, their_tokens))
    return differences, sum(map(len, ours))


def greedy_in_llama_cpp(path: Path, prompts: Sequence[str | Sequence[int]], tokens: int) -> list[list[int]]:
    """The tokens with which llama.cpp continues each prompt, a text or ids, up to the end of the text or of the context."""
    server = start_server(path, device="cpu", exact=True)
    greedy = {"temperature": 0, "samplers": ["temperature"], "return_tokens": True, "cache_prompt": False}
    continuations = []
    for prompt in prompts:
        reply = server.post("/completion", {"prompt": prompt, "n_predict": tokens, **greedy})
        ended = reply["stop_type"] == "eos" and len(reply["tokens"]) == reply["tokens_predicted"]
        continuations.append(reply["tokens"][:-1] if ended else reply["tokens"])
    return continuations


def _build(imported: ImportedModel) -> Any:
    model = models.build(imported.model, imported.vocabulary, imported.context)
    load_weights(model, imported.tensors, imported.origin)
    return model.eval()


def _fit_special_tokens(inputs: Inputs, config: Any) -> Inputs:
    """Change random inputs so that special tokens occur only where `transformers` expects them.

    Padding tokens are replaced, because RoBERTa gives them no position. A text for CLIP gets an end-of-text token as its
    last token and nowhere else, because CLIP represents the text by that token's vector.
    """
    padding = getattr(config, "pad_token_id", None)
    inputs = dict(inputs)
    for name, value in inputs.items():
        if not value.is_floating_point() and padding is not None:
            inputs[name] = torch.where(value == padding, padding - 1 if padding else 1, value)
    if "tokens_NT" in inputs:
        end, texts = config.text_config.eos_token_id, inputs["tokens_NT"]
        if end == 2:  # in the first CLIP configs, 2 means that the largest id is the end-of-text token
            end = config.text_config.vocab_size - 1
        inputs["tokens_NT"] = torch.where(texts == end, max(end - 1, 0), texts)
        inputs["tokens_NT"][:, -1] = end
    return inputs


def _transformers_output(model: Any, inputs: Inputs, pooling: str) -> Tensor:
    """Logits, or the pooled vectors of an encoder without a head."""
    if "source_BS" in inputs:
        return model(input_ids=inputs["source_BS"], decoder_input_ids=inputs["target_BT"]).logits
    if "pictures_MCSS" in inputs:
        return model(input_ids=inputs["tokens_NT"], pixel_values=inputs["pictures_MCSS"]).logits_per_text
    output = model(input_ids=inputs["tokens_BT"])
    return output.logits if hasattr(output, "logits") else pool(output.last_hidden_state, pooling)
