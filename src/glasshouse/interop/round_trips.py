"""Round trips: a run through another program's hands, for certificates to compare with the run itself."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glasshouse import models
from glasshouse.interop import gguf_export, gguf_import, huggingface, llama_cpp
from glasshouse.interop.imported_model import Imported
from glasshouse.models.heads.pooling import pool
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, MissingExtra
from glasshouse.training.engine import load_weights

Inputs = dict[str, Tensor]
# Beginnings that any tokenizer has tokens for.
PROMPTS = ("The", "In the beginning", "We are", "One day", "It is")
TOKENS = 50


def through_transformers(run: Run, inputs: Inputs, folder: Path) -> tuple[Tensor, Tensor, Tensor]:
    """What the run says, what transformers says of its export, and what the export says once it is imported again."""
    huggingface.export(run, folder)
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "comparing with transformers") from None
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    theirs = getattr(transformers, config["architectures"][0]).from_pretrained(folder, local_files_only=True).eval()
    inputs = _marked({name: value.cpu() for name, value in inputs.items()}, theirs.config)
    with torch.inference_mode():
        ours: Tensor = run.model.cpu()(**inputs)
        again: Tensor = _built(huggingface.read(folder))(**inputs)
        answer = _their_answer(theirs, inputs, getattr(run.model.head, "pooling", "mean"))
    run.model.to(run.device)
    return ours, answer, again


def through_gguf(run: Run, inputs: Inputs, path: Path) -> tuple[Tensor, Tensor]:
    """What the run says, and what its export says once it is imported again."""
    gguf_export.export(run, path)
    inputs = {name: value.cpu() for name, value in inputs.items()}
    with torch.inference_mode():
        both = run.model.cpu()(**inputs), _built(gguf_import.read(path))(**inputs)
    run.model.to(run.device)
    return both


def through_llama_cpp(run: Run, path: Path) -> tuple[int, int]:
    """How many of the tokens that llama.cpp chooses greedily after each prompt are not those chosen here; and all."""
    # Beyond the context the two part: here the window begins anew with its latest half, there it is moved.
    tokens = min(TOKENS, run.spec.data.context - max(len(run.begin(prompt).prompt_tokens) for prompt in PROMPTS))
    if tokens < 1:
        raise CannotExport(
            "context-too-short", f"a context of {run.spec.data.context} tokens leaves no room to continue a prompt"
        )
    gguf_export.export(run, path)
    theirs = llama_cpp.greedy_in_llama_cpp(path, list(PROMPTS), tokens)
    ours = [
        [choice.token for choice in completion.choices] for completion in run.sample(PROMPTS, tokens=tokens, temperature=0)
    ]
    wrong, end = 0, run.tokenizer.end_of_text
    for one, two in zip(ours, theirs, strict=True):
        two = two[: two.index(end)] if end in two else two  # here a text ends before its mark
        wrong += sum(a != b for a, b in zip(one, two, strict=False)) + abs(len(one) - len(two))
    return wrong, sum(map(len, ours))


def _built(imported: Imported) -> Any:
    model = models.build(imported.model, imported.vocabulary, imported.context)
    load_weights(model, imported.tensors, imported.origin)
    return model.eval()


def _marked(inputs: Inputs, config: Any) -> Inputs:
    """The inputs without padding marks, which give RoBERTa's tokens other positions, and with texts that end in the mark
    where CLIP looks for their meaning."""
    padding = getattr(config, "pad_token_id", None)
    cleaned = {}
    for name, value in inputs.items():
        if not value.is_floating_point() and padding is not None:
            value = torch.where(value == padding, (value + 1) % (int(value.max()) + 1), value)
            value = torch.where(value == padding, padding + 1, value)
        cleaned[name] = value
    if "tokens_NT" in cleaned:
        end = config.text_config.eos_token_id
        texts = torch.where(cleaned["tokens_NT"] == end, max(end - 1, 0), cleaned["tokens_NT"])
        if end == 2:  # the old way: the largest number is the end
            texts = texts.clamp(max=config.text_config.vocab_size - 2)
            end = config.text_config.vocab_size - 1
        texts[:, -1] = end
        cleaned["tokens_NT"] = texts
    return cleaned


def _their_answer(model: Any, inputs: Inputs, pooling: str) -> Tensor:
    if "source_BS" in inputs:
        return model(input_ids=inputs["source_BS"], decoder_input_ids=inputs["target_BT"]).logits
    if "pictures_MCSS" in inputs:
        return model(input_ids=inputs["tokens_NT"], pixel_values=inputs["pictures_MCSS"]).logits_per_text
    answer = model(input_ids=inputs["tokens_BT"])
    return answer.logits if hasattr(answer, "logits") else pool(answer.last_hidden_state, pooling)
