"""A run written as GGUF: llama.cpp continues prompts with the same tokens, and read again it gives the same logits."""

import json
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from glasshouse import models
from glasshouse.data.sources.state_of_the_union import StateOfTheUnion
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.interop import gguf_export, gguf_import, imported_model, llama2c, llama_cpp
from glasshouse.interop.architectures.config_fields import values_of, with_values
from glasshouse.interop.gguf_file import GGUF
from glasshouse.interop.imported_model import Imported
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import HeadSpec, ModelSpec
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.characters import Characters
from glasshouse.tokenizers.external import ExternalTokenizer
from glasshouse.tokenizers.words import Words
from tests.interop.test_llama2c import KNOWN, TEXTS, stories, write_small
from tests.refusals import refused

gguf = pytest.importorskip("gguf")
pytest.importorskip("xllamacpp")

PROMPTS = ["The state of our Union", "Mr. Speaker,\n\n", "We can't  wait: 12345 jobs", "naïve café — 你好", "I"]
LLAMA = ModelSpec(
    width=48, layers=2, heads=4, feed_forward=64, position="rotary", norm="rms", activation="swiglu", initialisation=2.5
)
GPT2 = ModelSpec(width=48, layers=2, heads=4, feed_forward=96, position="learned", norm="layer", initialisation=2.5)
MODELS = {
    "gpt2": replace(GPT2, bias=True),
    "gpt2-untied": replace(GPT2, tied=False),
    "llama": replace(LLAMA, tied=False, head_width=16, own={"rotary_base": 50000.0}, epsilon=1e-6),
    "llama-grouped": replace(LLAMA, attention="grouped-query"),
    "llama-one-group": replace(LLAMA, attention="grouped-query", own={"key_value_heads": 1}),
}
PATTERN = {"llama": "gpt-4"}


@pytest.fixture(scope="module")
def byte_pairs():
    """A tokenizer for each pattern, trained on the text that ships with the package."""
    texts = [document.text for document in StateOfTheUnion().documents("validation")]
    return {pattern: BytePair.train(texts, 600, pattern=pattern) for pattern in ("gpt-2", "gpt-4")}


def made(tokenizer, model: ModelSpec, name: str, vocabulary: int = 0, context: int = 96) -> Run:
    """A run of random weights, large enough that the likeliest token stands out. Biases are not zero, and no text ends."""
    built = models.build(model, vocabulary or tokenizer.vocabulary, context, seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
        built.final_norm.weight.mul_(4)
        if tokenizer.end_of_text is not None:
            (built.embedding if model.tied else built.head).weight[tokenizer.end_of_text] = 0
    document = tokenizer._document()
    tensors = dict(built.state_dict())
    return Run(
        imported_model.write(
            Imported(model, context, vocabulary or tokenizer.vocabulary, tensors, document, "random"), name
        ),
        device="cpu",
    )


@pytest.fixture
def run(byte_pairs) -> Run:
    return made(byte_pairs["gpt-2"], LLAMA, "small")


@pytest.fixture
def exported(run, tmp_path) -> Path:
    gguf_export.export(run, tmp_path / "small.gguf")
    return tmp_path / "small.gguf"


def logits(run: Run) -> torch.Tensor:
    ids = torch.randint(0, run.vocabulary, (2, 40), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        return run.model(ids)


@pytest.mark.parametrize("name", MODELS)
def test_llama_cpp_continues_as_glasshouse_does(name, byte_pairs, tmp_path):
    run = made(byte_pairs[PATTERN.get(name, "gpt-2")], MODELS[name], name)
    path = tmp_path / f"{name}.gguf"
    gguf_export.export(run, path)
    theirs = llama_cpp.greedy_in_llama_cpp(path, PROMPTS, 50)
    ours = run.sample(PROMPTS, tokens=50, temperature=0, alternatives=2)
    assert theirs == [[choice.token for choice in completion.choices] for completion in ours]
    choices = [choice for completion in ours for choice in completion.choices]
    # The comparison means something: the tokens are many, and none was chosen by a hair.
    assert len(choices) == 250
    assert len({choice.token for choice in choices}) > 40
    assert min(choice.alternatives[0][1] - choice.alternatives[1][1] for choice in choices) > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_read_again_it_is_the_same(name, byte_pairs, tmp_path):
    run = made(byte_pairs[PATTERN.get(name, "gpt-2")], MODELS[name], name)
    gguf_export.export(run, tmp_path / "once.gguf")
    found = gguf_import.read(tmp_path / "once.gguf")
    again = Run(imported_model.write(found, f"{name}-again"), device="cpu")
    assert torch.allclose(logits(run), logits(again), atol=1e-5, rtol=0)
    groups = run.model.blocks[0].attention.key_value_heads
    expected = with_values(MODELS[name], {"initialisation": 0.5, "key_value_heads": groups})
    assert values_of(again.spec.model, 0, 0) == values_of(expected, 0, 0)
    assert found.tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    assert isinstance(again.tokenizer, BytePair)
    assert again.facts["token_ids"] == {"bos": 0, "eos": 0}
    gguf_export.export(again, tmp_path / "twice.gguf")
    first, second = GGUF(tmp_path / "once.gguf"), GGUF(tmp_path / "twice.gguf")
    assert {**first.facts, "general.name": ""} == {**second.facts, "general.name": ""}
    assert all(torch.equal(first.tensor(tensor), second.tensor(tensor)) for tensor in first.tensors)


@pytest.mark.parametrize("pattern", ["gpt-2", "gpt-4"])
def test_llama_cpp_cuts_text_as_we_do(pattern, byte_pairs, tmp_path):
    # Trained on awkward text, so that merges reach over places where another rule would cut.
    awkward = [
        *TEXTS,
        *PROMPTS,
        "I'LL you'Re 'S\t\tx  \r\n\r\n y1234567 १२३ ½ Ⅻ \u3000\u2028z!?\n\n;— “e\u0301” a\x85b \x1c\x00",
    ]
    awkward += [f"{a}{b}{c}" for a in " x1.\n" for b in " '\t\r\né" for c in "a 9\n!'"]
    tokenizer = BytePair.train([" ".join(awkward) * 3], 420, pattern=pattern)
    run = made(tokenizer, LLAMA, "cutting")
    gguf_export.export(run, tmp_path / "cutting.gguf")
    texts = [*awkward, "a<|endoftext|>b", "<|endoftext|>"]
    theirs = llama_cpp.tokens_in_llama_cpp(tmp_path / "cutting.gguf", texts)
    assert theirs == [tokenizer.encode(text).tolist() for text in texts]


def test_the_story_in_llama_cpp(tmp_path):
    run = Run(imported_model.write(llama2c.read(stories()), "stories"), device="cpu")
    path = tmp_path / "stories.gguf"
    gguf_export.export(run, path)
    prompts = ["", "Once upon a time", "The big dog\nran", "“Héllo” 😀", "Lily and Tom"]
    theirs = llama_cpp.greedy_in_llama_cpp(path, prompts, 65)
    ours = run.sample(prompts, tokens=65, temperature=0)
    assert theirs == [[choice.token for choice in completion.choices] for completion in ours]
    assert run.tokenizer.decode(theirs[0]).startswith(KNOWN)
    texts = [text for text in TEXTS if "<s>" not in text]
    assert llama_cpp.tokens_in_llama_cpp(path, texts) == [run.tokenizer.encode(text).tolist() for text in texts]
    found = gguf_import.read(path)
    assert found.tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    assert found.model == run.spec.model


def test_scored_pieces_without_the_story(tmp_path):
    """The same for a small vocabulary, where no data folder is set."""
    run = Run(imported_model.write(llama2c.read(write_small(tmp_path / "small.bin", tied=False)), "small"), device="cpu")
    path = tmp_path / "small.gguf"
    gguf_export.export(run, path)
    texts = ["the then there", "hand in hand", "an\nand é 😀", "reherere therethe"]
    assert llama_cpp.tokens_in_llama_cpp(path, texts) == [run.tokenizer.encode(text).tolist() for text in texts]
    assert gguf_import.read(path).tokenizer == json.loads(run.folder.tokenizer_file.read_text())
    ids = [encode_prompt(run.tokenizer, text) for text in texts]
    theirs = llama_cpp.greedy_in_llama_cpp(path, texts, 3)
    assert theirs == llama_cpp.greedy_in_llama_cpp(path, ids, 3)


def test_a_model_with_more_tokens_than_its_tokenizer(byte_pairs, tmp_path):
    run = made(byte_pairs["gpt-2"], GPT2, "padded", vocabulary=640)
    gguf_export.export(run, tmp_path / "padded.gguf")
    facts = GGUF(tmp_path / "padded.gguf").facts
    assert len(facts["tokenizer.ggml.tokens"]) == len(set(facts["tokenizer.ggml.tokens"])) == 640
    assert facts["tokenizer.ggml.token_type"][-1] == 5
    assert llama_cpp.tokens_in_llama_cpp(tmp_path / "padded.gguf", PROMPTS) == [
        run.tokenizer.encode(prompt).tolist() for prompt in PROMPTS
    ]
    found = gguf_import.read(tmp_path / "padded.gguf")
    assert found.vocabulary == 640
    assert found.tokenizer == json.loads(run.folder.tokenizer_file.read_text())


def test_the_context_is_the_limit(byte_pairs, tmp_path):
    """llama.cpp ends where the position table ends."""
    run = made(byte_pairs["gpt-2"], GPT2, "short", context=16)
    gguf_export.export(run, tmp_path / "short.gguf")
    (found,) = llama_cpp.greedy_in_llama_cpp(tmp_path / "short.gguf", ["I"], 50)
    ours = run.sample("I", tokens=50, temperature=0)[0]
    assert 10 <= len(found) <= 16
    assert found == [choice.token for choice in ours.choices][: len(found)]


def test_the_end_of_text_ends_both(byte_pairs, tmp_path):
    run = made(byte_pairs["gpt-2"], replace(LLAMA, tied=False), "ending")
    ours = run.sample("The state", tokens=8, temperature=0)[0]
    end = run.tokenizer.end_of_text
    with torch.no_grad():  # the third token chosen becomes the end
        chosen = ours.choices[2].token
        run.model.head.weight[end] = run.model.head.weight[chosen] * 1.01
    gguf_export.export(run, tmp_path / "ending.gguf")
    ended = run.sample("The state", tokens=8, temperature=0)[0]
    assert ended.finish == "end"
    (theirs,) = llama_cpp.greedy_in_llama_cpp(tmp_path / "ending.gguf", ["The state"], 8)
    assert theirs == [choice.token for choice in ended.choices]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (replace(GPT2, activation="relu"), ("no-fitting-architecture", "model.activation='relu'", "'gpt2'")),
        (replace(GPT2, activation="gelu-exact"), ("no-fitting-architecture", "model.activation='gelu-exact'")),
        (replace(GPT2, attention="local-window"), ("no-fitting-architecture", "model.attention='local-window'")),
        (replace(GPT2, connection="post-norm"), ("no-fitting-architecture", "model.connection='post-norm'")),
        (replace(GPT2, norm="rms"), ("no-fitting-architecture", "model.norm='rms'")),
        (replace(GPT2, head_width=8), ("no-fitting-architecture", "model.head_width=8")),
        (replace(GPT2, head=HeadSpec(own={"bias": True})), ("no-fitting-architecture", "model.head.bias=True")),
        (replace(GPT2, own={"feed_forward_layers": 2}), ("no-fitting-architecture", "model.feed_forward_layers=2")),
        (replace(LLAMA, position="alibi"), ("no-fitting-architecture", "model.position='alibi'", "'llama'")),
        (replace(LLAMA, norm="layer"), ("no-fitting-architecture", "model.norm='layer'")),
        (replace(LLAMA, bias=True), ("no-fitting-architecture", "model.bias=True")),
        (replace(LLAMA, embedding_norm=True), ("no-fitting-architecture", "model.embedding_norm=True")),
        (replace(LLAMA, kind="encoder"), ("no-fitting-architecture", "model.kind='encoder'")),
    ],
)
def test_runs_of_another_shape(model, reason):
    with refused(*reason):
        gguf_export.architecture_of(model)


@pytest.mark.parametrize("kind", [Words, Characters])
def test_tokenizers_that_llama_cpp_does_not_have(kind, tmp_path):
    run = made(kind.train(["the cat sat on the mat"], 20), LLAMA, "words")
    with refused("tokenizer-does-not-fit", kind.name):
        gguf_export.export(run, tmp_path / "words.gguf")
    assert not list(tmp_path.glob("*.gguf"))
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_foreign_tokenizer_that_llama_cpp_does_not_have(byte_pairs, tmp_path):
    document = byte_pairs["gpt-2"]._document()
    document["pre_tokenizer"] = {**document["pre_tokenizer"], "add_prefix_space": True}
    run = made(ExternalTokenizer(document), LLAMA, "prefixed")
    with refused("tokenizer-does-not-fit", "llama.cpp", "one's"):
        gguf_export.export(run, tmp_path / "prefixed.gguf")


def test_a_long_s(tmp_path):
    """Where the one rule that differs could matter, the file is refused; elsewhere, and for GPT-2's rule, it is not."""
    tokenizers = {pattern: BytePair.train(["ſhe ſhe 'ſ " * 20], 262, pattern=pattern) for pattern in ("gpt-2", "gpt-4")}
    gguf_export.export(made(tokenizers["gpt-2"], LLAMA, "two"), tmp_path / "two.gguf")
    with refused("tokenizer-does-not-fit"):
        gguf_export.export(made(tokenizers["gpt-4"], LLAMA, "four"), tmp_path / "four.gguf")


def test_no_end_of_text(byte_pairs, tmp_path):
    document = byte_pairs["gpt-2"]._document()
    document["added_tokens"] = []
    run = made(BytePair.from_document(document), LLAMA, "endless")
    with refused("tokenizer-does-not-fit"):
        gguf_export.export(run, tmp_path / "endless.gguf")


def test_a_place_that_cannot_be_written(run, tmp_path):
    with refused("cannot-write"):
        gguf_export.export(run, tmp_path / "no" / "where.gguf")


def test_byte_pairs_with_a_start_token_and_whole_pieces(byte_pairs, tmp_path):
    """As Llama 3's: our own class does not follow it, the file says it, and it comes back as it was."""
    document = byte_pairs["gpt-4"]._document()
    begin = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [begin, first],
        "pair": [begin, first, begin, second],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}},
    }
    document["model"]["ignore_merges"] = True
    run = made(ExternalTokenizer(document), LLAMA, "third")
    path = tmp_path / "third.gguf"
    gguf_export.export(run, path)
    assert GGUF(path).facts["tokenizer.ggml.pre"] == "llama-bpe"
    assert llama_cpp.tokens_in_llama_cpp(path, PROMPTS) == [run.tokenizer.encode(text).tolist() for text in PROMPTS]
    ours = [[choice.token for choice in each.choices] for each in run.sample(PROMPTS, tokens=20, temperature=0)]
    assert llama_cpp.greedy_in_llama_cpp(path, PROMPTS, 20) == ours
    assert gguf_import.read(path).tokenizer == document


def write(path: Path, facts: dict, tensors: dict) -> Path:
    """A GGUF file of any facts and tensors: (numbers, kind) or plain numbers."""
    writer = gguf.GGUFWriter(path, facts["general.architecture"])
    for name, value in facts.items():
        if name == "general.architecture":
            continue
        if isinstance(value, list):
            writer.add_array(name, value)
        else:
            kind = {bool: "bool", int: "uint32", float: "float32", str: "string"}[type(value)]
            getattr(writer, f"add_{kind}")(name, value)
    for name, tensor in tensors.items():
        numbers, kind = tensor if isinstance(tensor, tuple) else (tensor, None)
        writer.add_tensor(name, np.ascontiguousarray(numbers), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def parts(path: Path) -> tuple[dict, dict]:
    file = GGUF(path)
    return dict(file.facts), {name: file.tensor(name).numpy() for name in file.tensors}


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q5_1"])
def test_other_kinds_of_numbers(kind, byte_pairs, tmp_path):
    run = made(byte_pairs["gpt-2"], replace(LLAMA, width=64), "plain")
    gguf_export.export(run, tmp_path / "plain.gguf")
    facts, tensors = parts(tmp_path / "plain.gguf")
    which = gguf.GGMLQuantizationType[kind]
    packed = {
        name: (gguf.quantize(numbers, which), which) if numbers.ndim == 2 else numbers for name, numbers in tensors.items()
    }
    found = gguf_import.read(write(tmp_path / "packed.gguf", facts, packed))
    plain = gguf_import.read(tmp_path / "plain.gguf")
    largest = {"F16": 1e-3, "BF16": 4e-3, "Q8_0": 5e-3, "Q4_0": 0.1, "Q5_1": 0.05}[kind]
    for name, tensor in plain.tensors.items():
        error = (found.tensors[name] - tensor).abs().max() / tensor.abs().max()
        assert error <= largest, name
        assert tensor.dim() < 2 or error > 0
    # llama.cpp reads the same file, so it is one.
    assert llama_cpp.tokens_in_llama_cpp(tmp_path / "packed.gguf", ["The"]) == [run.tokenizer.encode("The").tolist()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda facts, tensors: tensors.pop("blk.1.attn_k.weight"), ("missing-tensor", "'blk.1.attn_k.weight'")),
        (lambda facts, tensors: tensors.pop("token_embd.weight"), ("missing-tensor", "'token_embd.weight'")),
        (
            lambda facts, tensors: tensors.update({"blk.0.attn_q.bias": np.ones(48, np.float32)}),
            ("unknown-tensor", "'blk.0.attn_q.bias'"),
        ),
        (
            lambda facts, tensors: tensors.update({"blk.0.ffn_up.weight": np.ones((48, 64), np.float32)}),
            ("wrong-tensor-shape", "'blk.0.ffn_up.weight'", "48", "64"),
        ),
        (
            lambda facts, tensors: tensors.update({"rope_freqs.weight": np.ones(6, np.float32)}),
            ("unsupported-config", "'rope_freqs.weight'"),
        ),
        (
            lambda facts, tensors: facts.update({"llama.rope.scaling.type": "yarn"}),
            ("unsupported-config", "llama.rope.scaling.type='yarn'"),
        ),
        (
            lambda facts, tensors: facts.update({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}),
            ("unsupported-config", "4.0"),
        ),
        (lambda facts, tensors: facts.update({"llama.expert_count": 8}), ("unsupported-config",)),
        (
            lambda facts, tensors: facts.update({"llama.rope.dimension_count": 6}),
            ("unsupported-config", "llama.rope.dimension_count=6"),
        ),
        (lambda facts, tensors: facts.pop("llama.block_count"), ("missing-fact", "'llama.block_count'")),
        (lambda facts, tensors: facts.update({"llama.block_count": 3}), ("missing-tensor", "'blk.2.attn_norm.weight'")),
        (lambda facts, tensors: facts.update({"llama.block_count": 10**9}), ("sizes-do-not-fit", "1000000000")),
        (lambda facts, tensors: facts.update({"llama.block_count": "two"}), ("bad-fact", "llama.block_count='two'")),
        (lambda facts, tensors: facts.update({"llama.attention.head_count": 5}), ("groups-divide-heads",)),
        (lambda facts, tensors: facts.update({"llama.attention.head_count_kv": 3}), ("groups-divide-heads",)),
        (
            lambda facts, tensors: facts.update({"general.architecture": "qwen9"}),
            ("unsupported-architecture", "'qwen9'", "gpt2"),
        ),
        (lambda facts, tensors: facts.update({"tokenizer.ggml.bos_token_id": 9999}), ("bad-fact", "bos_token_id=9999")),
        (lambda facts, tensors: facts.update({"tokenizer.ggml.merges": ["q z"]}), ("bad-fact", "'q", "z'")),
        (lambda facts, tensors: facts.update({"tokenizer.ggml.merges": [1, 2]}), ("bad-fact",)),
        (lambda facts, tensors: facts.update({"tokenizer.ggml.token_type": [1, 1]}), ("bad-fact", "600")),
    ],
)
def test_files_that_cannot_be_read(change, reason, exported, tmp_path):
    facts, tensors = parts(exported)
    change(facts, tensors)
    path = write(tmp_path / "changed.gguf", facts, tensors)
    with refused(*reason) as caught:
        gguf_import.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tokenizer.ggml.model": "bert"}, "its tokenizer is of the kind 'bert'"),
        ({"tokenizer.ggml.pre": "tekken"}, "split by the rule 'tekken'"),
        ({"tokenizer.ggml.model": None}, "it has no tokenizer"),
    ],
)
def test_without_its_tokenizer(change, reason, exported, tmp_path, capfd):
    facts, tensors = parts(exported)
    facts = {name: value for name, value in {**facts, **change}.items() if value is not None}
    found = gguf_import.read(write(tmp_path / "other.gguf", facts, tensors))
    assert found.tokenizer is None
    said = capfd.readouterr().err
    assert "read without a tokenizer" in said
    assert reason in said


def test_files_that_are_no_gguf(tmp_path):
    path = tmp_path / "file.gguf"
    for content, code in (
        (b"", "not-gguf"),
        (b"PK\x03\x04 and more", "not-gguf"),
        (b"GGUF", "damaged-gguf"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(64), "unsupported-gguf"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(64), "unsupported-gguf"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "damaged-gguf"),
    ):
        path.write_bytes(content)
        with refused(code, path.name):
            gguf_import.read(path)
    with refused("unreadable-file"):
        gguf_import.read(tmp_path / "nowhere.gguf")


def test_cut_short_or_altered_anywhere(exported, tmp_path):
    """Never anything but an error that says what is wrong, or a model."""
    whole = exported.read_bytes()
    path = tmp_path / "damaged.gguf"
    generator = np.random.default_rng(0)
    head = whole.index(b"token_embd.weight")
    for size in [*generator.integers(0, len(whole) - 64, 20), *generator.integers(0, head, 10)]:
        path.write_bytes(whole[:size])
        with pytest.raises(GlasshouseError):
            gguf_import.read(path)
    for _ in range(60):
        content = bytearray(whole)
        for place in generator.integers(0, 2500 if generator.random() < 0.7 else head + 1500, 3):
            content[place] = generator.integers(0, 256)
        path.write_bytes(content)
        with suppress(GlasshouseError):
            gguf_import.read(path)


def test_without_the_packages(run, exported, tmp_path, monkeypatch):
    facts, tensors = parts(exported)
    which = gguf.GGMLQuantizationType.Q8_0
    tensors["blk.0.ffn_down.weight"] = (gguf.quantize(tensors["blk.0.ffn_down.weight"], which), which)
    write(tmp_path / "packed.gguf", facts, tensors)
    monkeypatch.setitem(sys.modules, "gguf", None)
    gguf_import.read(exported)  # plain numbers need no package
    with refused("missing-package"):
        gguf_import.read(tmp_path / "packed.gguf")
    with refused("missing-package"):
        gguf_export.export(run, tmp_path / "again.gguf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refused("missing-package"):
        llama_cpp.greedy_in_llama_cpp(exported, ["The"], 1)


def test_llama_cpp_says_what_is_wrong(exported, tmp_path):
    path = tmp_path / "short.gguf"
    path.write_bytes(exported.read_bytes()[:-5000])
    with refused("llama-cpp-failed", "llama.cpp", "short.gguf"):
        llama_cpp.greedy_in_llama_cpp(path, ["The"], 1)
    with refused("missing-file"):
        llama_cpp.greedy_in_llama_cpp(tmp_path / "nowhere.gguf", ["The"], 1)


def test_llama_cpp_prints_nothing(exported, tmp_path):
    program = (
        "import sys; from pathlib import Path; from glasshouse.interop.llama_cpp import greedy_in_llama_cpp as greedy; "
        "assert len(greedy(Path(sys.argv[1]), ['The', [5, 6]], 3)) == 2"
    )
    done = subprocess.run([sys.executable, "-c", program, str(exported)], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
