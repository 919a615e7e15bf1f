"""Runs of every task, exported: onnxruntime and `transformers` give the answers of the run, from the same texts."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glasshouse
import tokenizers
from glasshouse.interop import onnx_export
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, CannotImport, GlasshouseError
from tests import needs
from tests.refusals import refused

from .task_runs import BERT, DISTILBERT, FIRST_TOKEN, GPT2, LAST_TOKEN, LLAMA, LONGER, SECOND, TEXTS, trained
from .transformers_models import TOLERANCE, transformers

# Outputs of different texts differ by more than this.
DIFFERENT = 100 * TOLERANCE


def padded(rows: list[list[int]]) -> dict[str, np.ndarray]:
    lengths = [len(row) for row in rows]
    tokens = [row + [0] * (max(lengths) - len(row)) for row in rows]
    return {"tokens": np.array(tokens, np.int64), "lengths": np.array(lengths, np.int64)}


def in_onnxruntime(run: Run, folder: Path, second: list[str] | None = None) -> tuple[Any, np.ndarray]:
    """The encoded texts and the output of the exported graph for them."""
    for package in onnx_export.PACKAGES:
        needs.package(package)
    import onnxruntime

    glasshouse.export(run.folder.path, "onnx", folder)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoded = [tokenizer.encode(*texts) for texts in zip(TEXTS, *([second] if second else []), strict=True)]
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    inputs = padded([each.ids for each in encoded])
    names = [given.name for given in session.get_inputs()]
    if "segments" in names:
        inputs["segments"] = padded([each.type_ids for each in encoded])["tokens"]
    (output,) = session.run(None, {name: inputs[name] for name in names})
    ids = [each.ids for each in encoded]
    segments = [each.type_ids for each in encoded] if "segments" in names else None
    same_outputs(own_outputs(run, ids, segments), output)
    return encoded, output


@torch.inference_mode()
def own_outputs(run: Run, ids: list[list[int]], segments: list[list[int]] | None = None) -> list[np.ndarray]:
    """The output of the run for each text: logits, vectors, or values in the unit of the data."""
    rows = zip(*([torch.tensor([row]) for row in given] for given in (ids, segments) if given), strict=True)
    names = ("tokens_BT", "segments")
    outputs = [run.model(**dict(zip(names, row, strict=False)))[0].numpy() for row in rows]
    if run.spec.task == "regress":
        head: Any = run.model.head
        outputs = [output * head.deviation + head.mean for output in outputs]
    return outputs


def same_outputs(ours: list[np.ndarray], theirs: Any) -> None:
    """The outputs are equal, and those of different texts differ, so that equal ones mean something.

    A model with an output for each token gives as many as a text has tokens, and others for its padding.
    """
    for our, their in zip(ours, theirs, strict=True):
        assert our == pytest.approx(np.asarray(their)[: len(our)], abs=TOLERANCE, rel=0)
    last = [our[-1] if our.ndim > 1 else our for our in ours]
    differences = [np.abs(first - second).max() for number, first in enumerate(last) for second in last[:number]]
    assert min(differences) > DIFFERENT


def softmax(logits: np.ndarray) -> np.ndarray:
    return torch.from_numpy(logits).softmax(-1).numpy()


def by_label(run: Run, rows: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(run.facts["labels"], map(float, row), strict=True)) for row in rows]


# --- ONNX ---


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [(), ("model.head.naive_bayes=0.5",)], ids=["recipe", "naive Bayes"])
def test_a_classifier_in_onnxruntime(overrides, tmp_path):
    run = trained("classify", tmp_path, *overrides)
    _, logits = in_onnxruntime(run, tmp_path / "out")
    for ours, theirs in zip(run.classify(TEXTS), by_label(run, softmax(logits)), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)


@pytest.mark.slow
def test_several_labels_in_onnxruntime(tmp_path):
    run = trained("multi-label", tmp_path)
    _, logits = in_onnxruntime(run, tmp_path / "out")
    for ours, theirs in zip(run.predict(TEXTS), by_label(run, 1 / (1 + np.exp(-logits))), strict=True):
        assert theirs == pytest.approx(ours["probabilities"], abs=TOLERANCE)


@pytest.mark.slow
def test_numbers_in_onnxruntime(tmp_path):
    run = trained("regress", tmp_path)
    _, values = in_onnxruntime(run, tmp_path / "out")
    assert values[:, 0] == pytest.approx([answer["value"] for answer in run.predict(TEXTS)], abs=TOLERANCE)


@pytest.mark.slow
def test_tags_in_onnxruntime(tmp_path):
    run = trained("tag", tmp_path)
    encoded, logits = in_onnxruntime(run, tmp_path / "out")
    for text, each, rows, ours in zip(TEXTS, encoded, logits, run.predict(TEXTS), strict=True):
        starts = [each.char_to_token(text.index(word)) for word in text.split() if text.count(word) == 1]
        chosen = [tag for word, tag in zip(ours["words"], ours["tags"], strict=True) if text.count(word) == 1]
        assert [run.facts["labels"][row.argmax()] for row in rows[starts]] == chosen


@pytest.mark.slow
def test_vectors_in_onnxruntime(tmp_path):
    run = trained("embed", tmp_path)
    _, vectors = in_onnxruntime(run, tmp_path / "out")
    assert vectors == pytest.approx(run.embed(TEXTS).numpy(), abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["lm", "masked"])
def test_the_logits_of_tokens_in_onnxruntime(task, tmp_path):
    in_onnxruntime(trained(task, tmp_path), tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("segments", [0, 2])
def test_pairs_in_onnxruntime(segments, tmp_path):
    run = trained("pairs", tmp_path, f"model.segments={segments}")
    encoded, logits = in_onnxruntime(run, tmp_path / "out", SECOND)
    for ours, theirs in zip(run.classify(TEXTS, SECOND), by_label(run, softmax(logits)), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)
    assert sum(encoded[0].type_ids) == len(run.tokenizer.encode(SECOND[0]))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["lm", "classify"])
def test_a_pruned_model_in_onnxruntime(task, tmp_path):
    trained(task, tmp_path)
    name = "language-model" if task == "lm" else "classifier"
    glasshouse.prune(name, heads=0.5, name="pruned", device="cpu")
    run = glasshouse.open_run("pruned", device="cpu")
    assert run.spec.model.pruned_heads
    encoded, logits = in_onnxruntime(run, tmp_path / "out")
    for row, each, text in zip(logits, encoded, TEXTS, strict=True):
        with torch.inference_mode():
            ours = run.model(torch.tensor([each.ids]))[0]
        length = len(each.ids) if task == "lm" else None
        assert row[:length] == pytest.approx(ours.numpy(), abs=TOLERANCE), text
    for form in ("huggingface", "gguf"):
        with refused(CannotExport, "onnx"):
            glasshouse.export("pruned", form, tmp_path / form)


@pytest.mark.slow
def test_a_translator_in_onnxruntime(tmp_path):
    """Greedy decoding with the graph, token by token, gives the translation of the run."""
    for package in onnx_export.PACKAGES:
        needs.package(package)
    import onnxruntime

    run = trained("translate", tmp_path, *LONGER)
    glasshouse.export(run.folder.path, "onnx", tmp_path / "out")
    session = onnxruntime.InferenceSession(tmp_path / "out/model.onnx", providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
    metadata = session.get_modelmeta().custom_metadata_map
    start, end, source_end = (int(metadata[f"{name}_token"]) for name in ("start", "end", "source_end"))
    translations, ours, found = run.translate(TEXTS, beams=1), [], []
    assert len({best.text for (best,) in translations}) > 1
    for text, (best,) in zip(TEXTS, translations, strict=True):
        source = np.array([tokenizer.encode(text).ids], np.int64)
        assert source[0, -1] == source_end
        target = [start]
        while len(target) <= run.task.max_lengths[1]:
            given = {"source": source, "target": np.array([target]), "lengths": np.array([source.shape[1]])}
            (logits,) = session.run(None, given)
            target.append(int(logits[0, -1].argmax()))
            if target[-1] == end:
                break
        assert run.tokenizer.decode([token for token in target if token != end]) == best.text
        with torch.inference_mode():
            ours.append(run.model(torch.from_numpy(source), torch.tensor([target[:-1]]))[0].numpy())
        found.append(logits[0])
    same_outputs(ours, found)


@pytest.mark.slow
def test_the_greedy_translation_of_the_documentation(tmp_path, capsys):
    """The code of docs/interop.md gives the translations of the run. The current folder is the temporary one."""
    for package in onnx_export.PACKAGES:
        needs.package(package)
    run = trained("translate", tmp_path, *LONGER)
    glasshouse.export(run.folder.path, "onnx", tmp_path / "translator-onnx")
    page = (Path(__file__).parents[2] / "docs" / "interop.md").read_text()
    [code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def translate" in block]
    scope: dict[str, Any] = {}
    exec(compile(code, "docs/interop.md", "exec"), scope)
    texts = [*TEXTS, "the sun and the rain " * 30]
    expected = [best.text for (best,) in run.translate(texts, beams=1)]
    assert len(set(expected)) > 1
    assert [scope["translate"](text) for text in texts] == expected
    assert capsys.readouterr().out.strip().splitlines()


@pytest.mark.slow
def test_a_translator_that_is_a_decoder_alone_in_onnxruntime(tmp_path):
    """The start, the source and its end are what the run continues."""
    for package in onnx_export.PACKAGES:
        needs.package(package)
    import onnxruntime

    run = trained("translate", tmp_path, "model.kind=decoder", *LONGER)
    glasshouse.export(run.folder.path, "onnx", tmp_path / "out")
    session = onnxruntime.InferenceSession(tmp_path / "out/model.onnx", providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    start, end, source_end = (int(metadata[f"{name}_token"]) for name in ("start", "end", "source_end"))
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "out/tokenizer.json"))
    tokenizer.enable_truncation((int(metadata["context"]) - 2) // 2)
    for text, (best,) in zip(TEXTS, run.translate(TEXTS, beams=1), strict=True):
        prompt = [start, *tokenizer.encode(text).ids, source_end]
        found: list[int] = []
        while len(found) < run.task.max_lengths[1]:
            (logits,) = session.run(None, {"tokens": np.array([prompt + found])})
            token = int(logits[0, -1].argmax())
            if token == end:
                break
            found.append(token)
        assert tokenizer.decode(found) == best.text


# --- transformers ---


def in_transformers(run: Run, folder: Path, second: list[str] | None = None) -> str:
    """Export a run and compare its outputs with those of `transformers`, for single texts and for a padded batch, which a
    language model cannot take. Returns the name of the class."""
    glasshouse.export(run.folder.path, "huggingface", folder)
    (name,) = json.loads((folder / "config.json").read_text())["architectures"]
    theirs = getattr(transformers, name).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = list(zip(TEXTS, *([second] if second else []), strict=True))
    encoded = [tokenizer(*given, return_tensors="pt") for given in texts]
    with torch.inference_mode():
        outputs = [theirs(**each) for each in encoded]
    found = [output.logits[0] if "logits" in output else output.last_hidden_state[0].mean(0) for output in outputs]
    segments = [each.token_type_ids[0].tolist() for each in encoded] if "token_type_ids" in encoded[0] else None
    ours = own_outputs(run, [each.input_ids[0].tolist() for each in encoded], segments)
    same_outputs(ours, found)
    if name != "GPT2LMHeadModel":
        assert theirs.config.pad_token_id == tokenizer.pad_token_id is not None
        same_outputs(ours, padded_outputs(theirs, tokenizer, texts))
    return name


@torch.inference_mode()
def padded_outputs(model: Any, tokenizer: Any, texts: list[tuple[str, ...]]) -> list[np.ndarray]:
    """The outputs of a model of `transformers` for texts of different lengths in one batch."""
    batch = tokenizer(*map(list, zip(*texts, strict=True)), padding=True, return_tensors="pt")
    assert not batch.attention_mask.all(), "texts of one length need no padding"
    output = model(**batch)
    if "logits" in output:
        return [row.numpy() for row in output.logits]
    rows = zip(output.last_hidden_state, batch.attention_mask.bool(), strict=True)
    return [row[mask].mean(0).numpy() for row, mask in rows]


def pipeline_scores(folder: Path, texts: list[Any]) -> list[dict[str, float]]:
    """The probabilities that a pipeline gives, in batches of two texts."""
    pipeline = transformers.pipeline("text-classification", model=str(folder), top_k=None, device="cpu", batch_size=2)
    return [{each["label"]: each["score"] for each in row} for row in pipeline(texts, truncation=True)]


def test_a_classifier_without_a_hidden_layer_is_a_bert(tmp_path):
    run = trained("classify", tmp_path, *FIRST_TOKEN, "model.activation=gelu-exact")
    assert in_transformers(run, tmp_path / "out") == "BertForSequenceClassification"
    for ours, theirs in zip(run.classify(TEXTS), pipeline_scores(tmp_path / "out", TEXTS), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)
    with refused(CannotImport, "BertForSequenceClassification"):
        glasshouse.import_model(tmp_path / "out", "back")


@pytest.mark.slow
@pytest.mark.parametrize("head", [FIRST_TOKEN, (*DISTILBERT, "model.head.wide=0")], ids=["BERT", "DistilBERT"])
def test_several_labels_in_transformers(head, tmp_path):
    run = trained("multi-label", tmp_path, *head)
    in_transformers(run, tmp_path / "out")
    for ours, theirs in zip(run.predict(TEXTS), pipeline_scores(tmp_path / "out", TEXTS), strict=True):
        assert theirs == pytest.approx(ours["probabilities"], abs=TOLERANCE)
    if head is not FIRST_TOKEN:
        back = glasshouse.import_model(tmp_path / "out", "back")
        assert back.spec.task == "multi-label"
        for ours, theirs in zip(run.predict(TEXTS), back.predict(TEXTS), strict=True):
            assert theirs["probabilities"] == pytest.approx(ours["probabilities"], abs=TOLERANCE)


def test_an_imported_classifier_classifies(tmp_path):
    run = trained("classify", tmp_path, *DISTILBERT, "model.head.wide=0")
    in_transformers(run, tmp_path / "out")
    back = glasshouse.import_model(tmp_path / "out", "back")
    assert back.spec.task == "classify"
    for ours, theirs in zip(run.classify(TEXTS), back.classify(TEXTS), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)
    config = json.loads((tmp_path / "out/config.json").read_text())
    for names in ({"0": "a", "1": "a", "2": "b"}, None):
        (tmp_path / "out/config.json").write_text(json.dumps({**config, "id2label": names, "num_labels": 3}))
        unnamed = glasshouse.import_model(tmp_path / "out", f"unnamed-{names is None}")
        assert sorted(unnamed.classify(["warm"])[0]) == ["LABEL_0", "LABEL_1", "LABEL_2"]


@pytest.mark.slow
def test_numbers_in_transformers(tmp_path):
    run = trained("regress", tmp_path, *DISTILBERT)
    in_transformers(run, tmp_path / "out")
    pipeline = transformers.pipeline(
        "text-classification", model=str(tmp_path / "out"), function_to_apply="none", device="cpu"
    )
    theirs = [answer["score"] for answer in pipeline(TEXTS)]
    assert theirs == pytest.approx([answer["value"] for answer in run.predict(TEXTS)], abs=TOLERANCE)


@pytest.mark.slow
def test_tags_in_transformers(tmp_path):
    run = trained("tag", tmp_path, *BERT)
    in_transformers(run, tmp_path / "out")
    theirs = transformers.BertForTokenClassification.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    for text, ours in zip(TEXTS, run.predict(TEXTS), strict=True):
        encoded = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            scores = theirs(**encoded).logits[0].softmax(-1)
        chosen = dict(zip(ours["words"], zip(ours["tags"], ours["probabilities"], strict=True), strict=True))
        for word in (word for word in text.split() if text.count(word) == 1):
            row = scores[encoded.char_to_token(text.index(word))]
            tag, probability = chosen[word]
            assert theirs.config.id2label[int(row.argmax())] == tag
            assert float(row.max()) == pytest.approx(probability, abs=TOLERANCE)
    back = glasshouse.import_model(tmp_path / "out", "back")
    assert [answer["tags"] for answer in back.predict(TEXTS)] == [answer["tags"] for answer in run.predict(TEXTS)]


@pytest.mark.slow
def test_vectors_in_transformers(tmp_path):
    run = trained("embed", tmp_path, *BERT)
    assert in_transformers(run, tmp_path / "out") == "BertModel"


@pytest.mark.slow
def test_masked_tokens_in_transformers(tmp_path):
    run = trained("masked", tmp_path, *BERT, "model.activation=gelu-exact")
    assert in_transformers(run, tmp_path / "out") == "BertForMaskedLM"


@pytest.mark.slow
@pytest.mark.parametrize("segments", [0, 2])
@pytest.mark.parametrize("tokenizer", ["byte-pair", "words"])
def test_pairs_in_transformers(segments, tokenizer, tmp_path):
    run = trained("pairs", tmp_path, *FIRST_TOKEN, f"model.segments={segments}", f"data.tokenizer={tokenizer}")
    in_transformers(run, tmp_path / "out", SECOND)
    pairs = [{"text": text, "text_pair": second} for text, second in zip(TEXTS, SECOND, strict=True)]
    for ours, theirs in zip(run.classify(TEXTS, SECOND), pipeline_scores(tmp_path / "out", pairs), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)
    long = ["warm sun " * 90, "the rain"]
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")(*long, truncation=True).input_ids
    ours = run.task.inputs.batch_of(*([run.tokenizer.encode(text).tolist()] for text in long))
    assert cut == ours["tokens"][0].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 3])
def test_translations_in_transformers(beams, tmp_path):
    """`generate` of an exported translator finds the translations of the run: greedily, by beam search, and in a batch."""
    norms = ("model.norm=layer", "model.activation=relu", "model.feed_forward=32")
    run = trained("translate", tmp_path, *BERT, *norms, *LONGER)
    glasshouse.export(run.folder.path, "huggingface", tmp_path / "out")
    theirs = transformers.BartForConditionalGeneration.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    translations = run.translate(TEXTS, beams=beams, length_penalty=0.0)
    assert len({best[0].text for best in translations}) > 1
    search: dict[str, Any] = {"num_beams": beams, "length_penalty": 0.0, "max_new_tokens": run.task.max_lengths[1]}
    search |= {"do_sample": False, "early_stopping": False}
    ours, found, targets = [], [], []
    for text, best in zip(TEXTS, translations, strict=True):
        source = run.task.encoder_inputs([run.tokenizer.encode(text).tolist()])["source"]
        encoded = tokenizer(text, return_tensors="pt")
        assert encoded.input_ids.tolist() == source.tolist()
        made = theirs.generate(**encoded, **search)
        assert tokenizer.decode(made[0], skip_special_tokens=True) == best[0].text
        target = torch.tensor([[run.tokenizer.end_of_text, *run.tokenizer.encode(best[0].text)]])
        with torch.inference_mode():
            ours.append(run.model(source, target)[0].numpy())
            found.append(theirs(**encoded, decoder_input_ids=target).logits[0])
        targets.append(target[0])
    same_outputs(ours, found)
    # In one batch, the shorter texts are padded.
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    assert not batch.attention_mask.all()
    assert tokenizer.pad_token_id == theirs.config.pad_token_id != run.tokenizer.end_of_text
    made = theirs.generate(**batch, **search)
    assert tokenizer.batch_decode(made, skip_special_tokens=True) == [best[0].text for best in translations]
    given = torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=tokenizer.pad_token_id)
    with torch.inference_mode():
        same_outputs(ours, theirs(**batch, decoder_input_ids=given).logits)


def test_a_language_model_in_transformers(tmp_path):
    """An exported GPT-2 has the run's tokenizer, its logits and its greedy continuation."""
    run = trained("lm", tmp_path, *GPT2)
    assert in_transformers(run, tmp_path / "out") == "GPT2LMHeadModel"
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    for text in TEXTS[:2]:
        encoded = tokenizer(text, return_tensors="pt")
        made = theirs.generate(**encoded, do_sample=False, max_new_tokens=8)[0, encoded.input_ids.shape[1] :]
        (ours,) = run.sample(text, tokens=8, temperature=0)
        assert tokenizer.decode(made, skip_special_tokens=True) == ours.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "name"),
    [(GPT2, "GPT2ForSequenceClassification"), (LLAMA, "LlamaForSequenceClassification")],
    ids=["GPT-2", "Llama"],
)
def test_a_decoder_with_a_classifier_in_transformers(parts, name, tmp_path):
    """Also for a padded batch, in which `transformers` looks for the last token. It can be imported again."""
    run = trained("classify", tmp_path, *LAST_TOKEN, *parts)
    assert in_transformers(run, tmp_path / "out") == name
    theirs = getattr(transformers, name).from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    with torch.inference_mode():
        scores = theirs(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits.softmax(-1)
    back = glasshouse.import_model(tmp_path / "out", "back")
    for ours, again, row in zip(run.classify(TEXTS), back.classify(TEXTS), by_label(run, scores.numpy()), strict=True):
        assert row == pytest.approx(ours, abs=TOLERANCE)
        assert again == pytest.approx(ours, abs=TOLERANCE)


@pytest.mark.slow
def test_an_imported_classifier_reads_pairs_that_its_tokenizer_joins(tmp_path):
    run = trained("pairs", tmp_path, *DISTILBERT, "model.head.wide=0", "model.segments=0")
    in_transformers(run, tmp_path / "out", SECOND)
    back = glasshouse.import_model(tmp_path / "out", "back")
    for ours, theirs in zip(run.classify(TEXTS, SECOND), back.classify(TEXTS, SECOND), strict=True):
        assert theirs == pytest.approx(ours, abs=TOLERANCE)
    assert back.classify(TEXTS) != back.classify(TEXTS, SECOND)
    table = tmp_path / "new.csv"
    table.write_text("text,other\n" + "".join(f'"{text}","{other}"\n' for text, other in zip(TEXTS, SECOND, strict=True)))
    rows = list(glasshouse.runs.predict_file("back", table, "cpu", second_field="other"))
    assert [row["probabilities"] for row in rows] == [
        pytest.approx(each, abs=TOLERANCE) for each in run.classify(TEXTS, SECOND)
    ]
    document = json.loads((tmp_path / "out/tokenizer.json").read_text())
    (tmp_path / "out/tokenizer.json").write_text(json.dumps({**document, "post_processor": None}))
    single = glasshouse.import_model(tmp_path / "out", "single")
    with refused(GlasshouseError, "single"):
        single.classify(TEXTS, SECOND)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_remedy_of_a_classifier_that_does_not_fit_works(kind, tmp_path):
    """The commands in the error make a model that can be exported, and export this one, with the wide part, to ONNX."""
    run = trained("classify", tmp_path, f"model.kind={kind}", "training.steps=5")
    with refused(CannotExport, "model.head.wide=2", "--to onnx") as caught:
        glasshouse.export(run.folder.path, "huggingface", tmp_path / "out")
    train, onnx = (shlex.split(part.split(": ")[-1]) for part in str(caught.value).split("; ")[-2:])
    assert (train[:2], onnx[:2]) == (["glasshouse", "train"], ["glasshouse", "export"])
    recipe, *overrides = train[2 : train.index("--name")]
    made = glasshouse.train(recipe, *overrides, name=train[-1], device="cpu")
    in_transformers(made, tmp_path / "out")
    in_onnxruntime(run, tmp_path / onnx[-1])
