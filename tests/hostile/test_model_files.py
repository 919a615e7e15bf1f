"""Model files from somebody else, damaged or wild: an import answers, or raises our own error in one line."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import glasshouse
from glasshouse.interop import formats, gguf_models, huggingface, imported_model, llama2c
from glasshouse.records import checkpoint
from glasshouse.specs.errors import CannotImport, GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer
from tests import needs
from tests.interop.gguf_models import LLAMA, random_run
from tests.interop.llama2c_files import write_small_model
from tests.refusals import refused

# A sweep of hostile input: what SECURITY.md promises is held in every run by test_containment.py and test_bounds.py.
pytestmark = pytest.mark.slow

TOKENIZER, CONFIG, WEIGHTS = "tokenizer.json", "config.json", "model.safetensors"
INDEX = "model.safetensors.index.json"
WILD: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**70,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x" * 5000,
    "../../secret",
    "a\0b",
    "\x1b[2J",
    [],
    [[]],
    [None],
    {},
    {"type": "Sequence"},
    {"a": {"b": {}}},
]
Files = dict[str, bytes]


@cache
def whole_files(kind: str, folder: Path) -> Files:
    """The files of a small sound model, by name."""
    folder.mkdir()
    if kind == "llama2c":
        write_small_model(folder / "model.bin", tied=True)
    else:
        run = random_run(BytePair.train(["the sun and the rain in the garden"] * 9, 270), LLAMA, folder.name, context=16)
        if kind == "gguf":
            needs.package("gguf")
            gguf_models.export(run, folder / "model.gguf")
        else:
            huggingface.export(run, folder / "out")
            folder = folder / "out"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Callable[[str], Files]:
    """The files of a sound model of a format."""
    folder = tmp_path_factory.mktemp("whole")

    def files_of(kind: str) -> Files:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
            return dict(whole_files(kind, folder / kind))

    return files_of


def written(folder: Path, contents: Files) -> Path:
    """A folder with these files and no others."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def source(kind: str, folder: Path) -> Path:
    return {"huggingface": folder, "gguf": folder / "model.gguf", "llama2c": folder / "model.bin"}[kind]


def message_of(action: Callable[[], Any]) -> str:
    """What our own error says; empty if there is none. Any other exception goes on."""
    try:
        action()
    except GlasshouseError as error:
        return str(error)
    return ""


def import_wholly(path: Path) -> None:
    """Import a model as far as a run would need it."""
    imported = formats.read(path)
    if imported.tokenizer is not None:
        imported_model.check_tokenizer(imported)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in imported.tensors.values())


def answers_or_refuses(path: Path) -> None:
    assert "\n" not in message_of(lambda: import_wholly(path))


# --- fixed cases ---


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused(value, files, tmp_path):
    folder = written(tmp_path / "model", files("huggingface"))
    tensors = load_file(folder / WEIGHTS)
    name = sorted(tensors)[0]
    tensors[name].view(-1)[3] = value
    save_file(tensors, folder / WEIGHTS)
    with refused(GlasshouseError, name, "1 of"):
        glasshouse.import_model(folder, "wild")


def test_a_run_whose_weights_became_nan_says_so(files, tmp_path):
    run = glasshouse.import_model(written(tmp_path / "model", files("huggingface")), "sound")
    assert run.sample("the", tokens=2)
    saved = checkpoint.load(run.folder.checkpoints, 0)
    weights = {name: torch.full_like(tensor, torch.nan) for name, tensor in saved.weights.items()}
    checkpoint.save(run.folder.checkpoints, checkpoint.Checkpoint(1, {"model": weights}, saved.values))
    with refused(GlasshouseError, "sound", "step 1"):
        glasshouse.open_run("sound", device="cpu").sample("the", tokens=2)


@pytest.mark.parametrize("id", [2**70, 2**31, 2**40, -1, 1.5, "7", None, True])
@pytest.mark.parametrize("where", ["vocab", "added_tokens"])
def test_a_token_with_a_wild_id(id, where, files, tmp_path):
    contents = files("huggingface")
    document = json.loads(contents[TOKENIZER])
    if where == "vocab":
        document["model"]["vocab"]["the"] = id
    else:
        document["added_tokens"][0]["id"] = id
    folder = written(tmp_path / "model", {**contents, TOKENIZER: json.dumps(document).encode()})
    with refused(GlasshouseError, str(id)[:40]):
        glasshouse.import_model(folder, "wild")


@pytest.mark.parametrize(
    "name", ["x" * 5000, "é" * 200, "../model.safetensors", "/etc/passwd", "..", ".", "", "a\0b", "sub\\file"], ids=ascii
)
def test_an_index_with_a_wild_name(name, files, tmp_path):
    contents = files("huggingface")
    tensors = ["model.norm.weight"]
    del contents[WEIGHTS]
    contents[INDEX] = json.dumps({"weight_map": dict.fromkeys(tensors, name)}).encode()
    folder = written(tmp_path / "model", contents)
    with refused(CannotImport, INDEX) as caught:
        glasshouse.import_model(folder, "wild")
    assert len(str(caught.value)) < 500


def header_of(entries: dict[str, Any] | bytes, length: int | None = None) -> bytes:
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text


def entry(shape: list[int], begin: int, end: int, kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        header_of({}, 2**63),
        header_of({}, 2**64 - 1),
        header_of({}, 101_000_000) + bytes(64),
        header_of(b"[" * 200_000),
        header_of(b'{"a":' * 50_000),
        header_of({"a": entry([2**40, 2**40], 0, 2**60)}) + bytes(64),
        header_of({"a": entry([4], 0, 16), "b": entry([4], 0, 16)}) + bytes(16),
        header_of({"a": entry([4], 0, 16), "b": entry([4], 8, 24)}) + bytes(24),
        header_of({"a": entry([-4], 0, 16)}) + bytes(16),
        header_of({"a": entry([4], 16, 0)}) + bytes(16),
        header_of({"a": entry([4], 0, 2**70)}) + bytes(16),
        header_of({"a": entry([4], 0, 16, "COMPLEX")}) + bytes(16),
        header_of({"a": {"shape": "x"}}) + bytes(16),
        header_of({"a": 7}) + bytes(16),
        header_of(
            b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}}'
        )
        + bytes(32),
    ],
    ids=lambda content: ascii(content[:40]),
)
def test_a_safetensors_file_with_a_wild_header(content, files, tmp_path):
    folder = written(tmp_path / "model", {**files("huggingface"), WEIGHTS: content})
    with pytest.raises(GlasshouseError) as caught:
        glasshouse.import_model(folder, "wild")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, TOKENIZER, "tokenizer_config.json"])
def test_a_link_out_of_the_folder(name, files, tmp_path):
    contents = files("huggingface")
    outside = tmp_path / "outside"
    outside.write_bytes(contents[name])
    folder = written(tmp_path / "model", {each: content for each, content in contents.items() if each != name})
    (folder / name).symlink_to(outside)
    with refused(GlasshouseError, name, str(outside)):
        glasshouse.import_model(folder, "wild")


def test_the_links_of_the_hub_s_cache_are_followed(files, tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots").mkdir()
    folder = written(tmp_path / "snapshots/1", {})
    for number, (name, content) in enumerate(files("huggingface").items()):
        (tmp_path / f"blobs/{number}").write_bytes(content)
        (folder / name).symlink_to(f"../../blobs/{number}")
    assert glasshouse.import_model(folder, "cached").sample("the", tokens=1)


def gguf_file(*parts: bytes, tensors: int = 0, entries: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + b"".join(parts)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.mark.parametrize(
    "content",
    [
        gguf_file(tensors=2**63),
        gguf_file(entries=2**63),
        gguf_file(struct.pack("<Q", 2**64 - 1), entries=1),
        gguf_file(text("a"), struct.pack("<IIQ", 9, 8, 2**60), entries=1),
        gguf_file(text("a"), struct.pack("<IIQ", 9, 4, 2**62), bytes(64), entries=1),
        gguf_file(text("a"), struct.pack("<II", 9, 9) * 50, entries=1),
        gguf_file(*[text("a") + struct.pack("<II", 4, 1)] * 2, entries=2),
        gguf_file(*[text("a") + struct.pack("<IQIQ", 1, 4, 0, 0)] * 2, bytes(64), tensors=2),
        gguf_file(text("a"), struct.pack("<IQQIQ", 2, 2**40, 2**40, 0, 0), bytes(64), tensors=1),
        gguf_file(text("a"), struct.pack("<IQIQ", 1, 4, 0, 2**63), bytes(64), tensors=1),
    ],
    ids=lambda content: ascii(content[8:40]),
)
def test_a_gguf_file_with_wild_counts(content, tmp_path):
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(GlasshouseError):
        glasshouse.import_model(tmp_path / "model.gguf", "wild")


# The sizes of a llama2.c model of about 20 GB: width, feed-forward, layers, heads, key-value heads, vocabulary, context.
LARGE = (4096, 11008, 24, 32, 32, 32000, 2048)
UNDER_A_LIMIT = """
import resource, sys
import glasshouse, torch
from glasshouse.interop import formats
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, used + 2**29))
try:
    formats.read(sys.argv[1])
except glasshouse.GlasshouseError as error:
    print(type(error).__name__)
"""


def sparse(path: Path, start: bytes, size: int) -> Path:
    """A file of this size that takes almost no space on the disk."""
    path.write_bytes(start)
    os.truncate(path, size)
    return path


def large_files(folder: Path) -> dict[str, Path]:
    """Files of 20 GB whose headers fit their sizes, and one whose header does not."""
    shapes = llama2c.tensor_shapes(dict(zip(llama2c.SIZES, LARGE, strict=True)), tied=True)
    whole = llama2c.HEADER.size + 4 * llama2c.number_count(shapes)
    count = 5 * 10**9
    safetensors = header_of({"a": entry([count], 0, 4 * count)})
    folders = [folder / "first", folder / "second"]
    for each in folders:
        each.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "vocab_size": 10, "hidden_size": 8, "num_attention_heads": 2}
    (folders[0] / CONFIG).write_text(json.dumps(config))
    sparse(folders[0] / WEIGHTS, safetensors, len(safetensors) + 4 * count)
    (folders[1] / CONFIG).write_text("{}")
    sparse(folders[1] / CONFIG, b"{", 2 * 10**10)
    gguf = gguf_file(text("a"), struct.pack("<IQIQ", 1, count, 0, 0), tensors=1)
    return {
        "llama2c": sparse(folder / "fits.bin", llama2c.HEADER.pack(*LARGE), whole),
        "llama2c, too long": sparse(folder / "long.bin", llama2c.HEADER.pack(*LARGE), 2 * 10**10),
        "safetensors": folders[0],
        "config": folders[1],
        "gguf": sparse(folder / "large.gguf", gguf, 4 * count + 1000),
        "gguf of zeros": sparse(folder / "zeros.gguf", gguf_file(entries=2**23), 2 * 10**10),
    }


def error_under_a_limit(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", UNDER_A_LIMIT, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama2c", "llama2c, too long", "safetensors", "config", "gguf", "gguf of zeros"])
def test_a_sparse_file_of_20_gigabytes_takes_no_memory(kind, tmp_path):
    """The process may use half a gigabyte more than the program itself."""
    assert error_under_a_limit(large_files(tmp_path)[kind]) == "CannotImport"


# --- damage by chance ---

damages = st.lists(
    st.tuples(
        st.sampled_from(["byte", "cut", "number", "repeat", "zeros"]), st.floats(0, 1), st.integers(0, 255), st.booleans()
    ),
    min_size=1,
    max_size=3,
)
NUMBERS = [struct.pack("<Q", 2**64 - 1), struct.pack("<Q", 2**40), struct.pack("<I", 2**31), struct.pack("<f", float("nan"))]


def damaged(content: bytes, damage: list[tuple[str, float, int, bool]]) -> bytes:
    """The bytes with some faults. Half of them are in the first 4,000 bytes, where headers are."""
    changed = bytearray(content)
    for kind, share, value, early in damage:
        position = int(share * (min(len(changed), 4000) if early else len(changed)))
        if kind == "byte":
            changed[position : position + 1] = bytes([value])
        elif kind == "cut":
            del changed[position:]
        elif kind == "number":
            number = NUMBERS[value % len(NUMBERS)]
            changed[position : position + len(number)] = number
        elif kind == "repeat":
            changed[position:position] = changed[position : position + value]
        else:
            changed[position : position + value] = bytes(value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("huggingface", WEIGHTS),
        ("huggingface", CONFIG),
        ("huggingface", TOKENIZER),
        ("gguf", "model.gguf"),
        ("llama2c", "model.bin"),
        ("llama2c", "tok300.bin"),
    ],
)
@given(damage=damages)
@settings(max_examples=15)
def test_damaged_bytes(kind, name, files, tmp_path_factory, damage):
    contents = files(kind)
    folder = tmp_path_factory.getbasetemp() / "damaged"
    answers_or_refuses(source(kind, written(folder, {**contents, name: damaged(contents[name], damage)})))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON document: a list or an object, and an index or a key of it. Only a few of a long one."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    inner = [(value, key) for key in keys[:20]]
    return inner + [place for key in keys[:20] for place in places(value[key])]


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER, INDEX])
@given(share=st.floats(0, 1, exclude_max=True), value=st.sampled_from(WILD), removed=st.booleans())
@settings(max_examples=25)
def test_wild_values(name, files, tmp_path_factory, share, value, removed):
    contents = files("huggingface")
    if name == INDEX:
        contents["part.safetensors"] = contents.pop(WEIGHTS)
        listed = dict.fromkeys(["model.norm.weight", "model.embed_tokens.weight"], "part.safetensors")
        contents[INDEX] = json.dumps({"metadata": {"total_size": 10}, "weight_map": listed}).encode()
    document = json.loads(contents[name])
    found = places(document)
    holder, key = found[int(share * len(found))]
    if removed:
        del holder[key]
    else:
        holder[key] = value
    contents[name] = json.dumps(document).encode()
    answers_or_refuses(written(tmp_path_factory.getbasetemp() / "wild", contents))


@cache
def other_tokenizers() -> dict[str, str]:
    """Files of the kinds that the package `tokenizers` runs."""
    package = needs.package("tokenizers")
    models, processors = package.models, package.processors
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "the": 3, "sun": 4, "##s": 5}
    word_piece = package.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    word_piece.normalizer = package.normalizers.BertNormalizer()
    word_piece.decoder = package.decoders.WordPiece()
    specials = [("[CLS]", 1), ("[SEP]", 2)]
    word_piece.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", specials)
    word_piece.add_special_tokens(["[CLS]", "[SEP]"])
    unigram = package.Tokenizer(models.Unigram([("<unk>", 0.0), ("▁the", -1.0), ("▁", -2.0), ("s", -3.0)], unk_id=0))
    unigram.pre_tokenizer, unigram.decoder = package.pre_tokenizers.Metaspace(), package.decoders.Metaspace()
    return {"WordPiece": word_piece.to_str(), "Unigram": unigram.to_str()}


def use_tokenizer(path: Path) -> None:
    tokenizer = glasshouse.data.load_tokenizer(path)
    assert tokenizer.prefix_and_suffix is not None
    tokenizer.decode(tokenizer.encode("the sun"))


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram"])
@given(share=st.floats(0, 1, exclude_max=True), value=st.sampled_from(WILD), removed=st.booleans())
@settings(max_examples=60)
def test_wild_values_in_tokenizers_of_others(kind, tmp_path_factory, share, value, removed):
    document = json.loads(other_tokenizers()[kind])
    found = places(document)
    holder, key = found[int(share * len(found))]
    if removed:
        del holder[key]
    else:
        holder[key] = value
    path = tmp_path_factory.getbasetemp() / TOKENIZER
    path.write_text(json.dumps(document))
    assert "\n" not in message_of(lambda: use_tokenizer(path))


def test_a_template_with_a_token_that_does_not_exist(tmp_path):
    """The package's own code stops with a panic, which is no exception of Python's usual kind."""
    document = json.loads(other_tokenizers()["WordPiece"])
    del document["post_processor"]["special_tokens"]["[SEP]"]
    (tmp_path / TOKENIZER).write_text(json.dumps(document))
    with refused(UnsupportedTokenizer):
        use_tokenizer(tmp_path / TOKENIZER)


@given(values=st.lists(st.sampled_from([-1, 0, 1, 2, 8, 300, 2**24 - 1, 2**31 - 1, -(2**31)]), min_size=7, max_size=7))
@settings(max_examples=40)
def test_wild_llama2c_headers(values, files, tmp_path_factory):
    contents = files("llama2c")
    content = struct.pack("<7i", *values) + contents["model.bin"][28:]
    answers_or_refuses(written(tmp_path_factory.getbasetemp() / "header", {**contents, "model.bin": content}) / "model.bin")


def test_huge_but_finite_weights_are_not_sampled_from(files, tmp_path):
    folder = written(tmp_path / "model", files("huggingface"))
    tensors = load_file(folder / WEIGHTS)
    tensors["model.norm.weight"].fill_(3e38)
    tensors["model.embed_tokens.weight"].mul_(1e6)
    save_file(tensors, folder / WEIGHTS)
    run = glasshouse.import_model(folder, "huge")
    with refused(GlasshouseError):
        run.sample("the", tokens=2)


def test_a_configuration_with_a_number_that_no_float_holds(files, tmp_path):
    contents = files("huggingface")
    config = json.loads(contents[CONFIG]) | {"rms_norm_eps": 10**400}
    folder = written(tmp_path / "model", {**contents, CONFIG: json.dumps(config).encode()})
    with refused(GlasshouseError, "rms_norm_eps"):
        glasshouse.import_model(folder, "wild")
