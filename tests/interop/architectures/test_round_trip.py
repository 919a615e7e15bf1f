"""Every architecture in both directions: imported models compute what `transformers` computes, and exports load there."""

from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from glasshouse.interop import huggingface, imported_model
from glasshouse.runs.run import Run
from tests.generation.small_models import continue_greedily
from tests.interop.our_models import OURS, random_run
from tests.interop.transformers_models import (
    END,
    FACTORIES,
    PADDING,
    SEEDS,
    VOCABULARY,
    assert_same_outputs,
    build_ours,
    random_texts,
    save_random_model,
    transformers,
)

# Tensors that `transformers` saves but does not use if the output is not tied.
UNUSED_IF_UNTIED = ("model.shared.weight", "cls.predictions.bias", "lm_head.bias")


def greedy(ours: Any, prompts: list[list[int]], context: int) -> list[list[int]]:
    return continue_greedily(ours, prompts, 20, context)


def assert_same_generation(ours: Any, theirs: Any, seed: int) -> None:
    """Greedy decoding gives the same twenty tokens."""
    theirs.generation_config.eos_token_id = None
    options: dict[str, Any] = {"max_new_tokens": 20, "do_sample": False, "use_cache": True, "pad_token_id": PADDING}
    context = theirs.config.max_position_embeddings
    prompts = random_texts(3, 5, seed)
    if theirs.config.is_encoder_decoder:
        lengths = torch.tensor([5, 2, 4])
        mask = torch.arange(5) < lengths[:, None]
        options |= {"forced_bos_token_id": None, "forced_eos_token_id": None, "decoder_start_token_id": END}
        expected = theirs.generate(prompts.masked_fill(~mask, PADDING), attention_mask=mask.long(), **options)
        decoder = ours.condition_on(prompts.masked_fill(~mask, PADDING), lengths)
        assert greedy(decoder, [[END]] * 3, context) == expected.tolist()
    else:
        expected = theirs.generate(prompts, attention_mask=torch.ones_like(prompts), **options)
        assert greedy(ours, prompts.tolist(), context) == expected.tolist()


@pytest.mark.parametrize("seed", [*SEEDS[:2], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[2:])])
@pytest.mark.parametrize("kind", FACTORIES)
def test_both_ways(kind, seed, tmp_path):
    """The imported model has the same hidden states, logits and tokens; its export has the same tensors, bit for bit."""
    theirs = save_random_model(kind, seed, tmp_path / "theirs")
    imported = huggingface.read(tmp_path / "theirs")
    ours = build_ours(imported)
    assert_same_outputs(ours, theirs, kind, seed)
    if theirs.can_generate():
        assert_same_generation(ours, theirs, seed)

    huggingface.export(Run(imported_model.save_as_run(imported, "read")), tmp_path / "written")
    exported = type(theirs).from_pretrained(tmp_path / "written").eval()
    assert exported.config.architectures == [kind]
    assert_same_outputs(ours, exported, kind, seed)
    before, after = load_file(tmp_path / "theirs/model.safetensors"), load_file(tmp_path / "written/model.safetensors")
    before = {name: tensor for name, tensor in before.items() if "pooler" not in name}
    assert before.keys() == after.keys()
    position_offset = 2 if kind.startswith(("Roberta", "Bart")) else 0
    for name, tensor in before.items():
        if name in UNUSED_IF_UNTIED and not theirs.config.tie_word_embeddings:
            continue
        rows = slice(position_offset if "position" in name else 0, None)
        assert torch.equal(tensor[rows] if tensor.dim() else tensor, after[name][rows] if tensor.dim() else after[name]), (
            name
        )
    again = huggingface.read(tmp_path / "written")
    assert (again.model, again.context, again.vocabulary) == (imported.model, imported.context, imported.vocabulary)
    assert (again.token_ids, again.architecture) == (imported.token_ids, kind)


@pytest.mark.parametrize("case", OURS)
def test_runs_of_our_own_are_exported_as_the_architecture_that_they_have(case, tmp_path):
    """Weights that only the architecture has are written as zeros, so the function is the same."""
    kind, model = OURS[case]
    run = random_run(model)
    huggingface.export(run, tmp_path / "out")
    theirs = getattr(transformers, kind).from_pretrained(tmp_path / "out").eval()
    if kind == "CLIPModel":
        theirs.text_model.eos_token_id = VOCABULARY - 1
    assert_same_outputs(run.model, theirs, kind, 0)
    assert not (tmp_path / "out/tokenizer.json").exists()
    again = huggingface.read(tmp_path / "out")
    assert again.model.bias or kind == "LlamaForCausalLM"
    assert_same_outputs(build_ours(again), theirs, kind, 0)
