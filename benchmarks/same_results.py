"""Does another checkout give the same results? Runs and a study with fixed seeds, compared bit for bit.

    python benchmarks/same_results.py --smoke
    git worktree add ../before COMMIT
    python benchmarks/same_results.py record --source ../before/src --output before.json
    python benchmarks/same_results.py record --output after.json
    python benchmarks/same_results.py compare before.json after.json

A change that only moves code must leave every digest of weights, every loss and every verdict as it was. The first command
also works for a checkout whose public functions differ: it uses the command line alone. Bits differ between processors, so
both records are made on the same machine, one after the other, on one thread.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "src"
COMMAND = "from glasshouse.cli import main; main()"
QUICK = ("evaluation.baselines=false",)
SHORT = ("evaluation.tokens=600", "evaluation.sample_tokens=4", "training.steps=5", "data.context=32", "model.layers=2")
LM = ("demo-lm", *SHORT, *QUICK, "data.vocabulary=500")
COURSE = (*QUICK, "training.epochs=0", "training.steps=6")
# Name of a run -> its recipe and overrides. Together: every task, model, head, optimiser, position and most parts.
RUNS: dict[str, tuple[str, ...]] = {
    "demo": LM,
    **{f"position-{p}": (*LM, f"model.position={p}") for p in ("learned", "sinusoidal", "one-hot", "alibi", "none")},
    **{f"position-{p}": (*LM, f"model.position={p}") for p in ("relative", "relative-buckets")},
    **{
        f"optimiser-{o}": (*LM, f"training.optimiser={o}", "training.schedule=constant")
        for o in ("adamw", "muon", "lion", "sgd")
    },
    **{
        f"attention-{a}": (*LM, f"model.attention={a}", "model.position=learned")
        for a in ("unscaled", "grouped-query", "additive", "local-window", "none")
    },
    **{
        f"activation-{a}": (*LM, f"model.activation={a}", f"model.norm={n}", f"model.connection={c}")
        for a, n, c in (
            ("gelu", "layer", "post-norm"),
            ("relu-squared", "none", "no-residual"),
            ("relu", "batch", "pre-norm"),
        )
    },
    "accumulated": (*LM, "training.micro_batch=4", "training.clip=0.1", "model.dropout=0.2", "training.seed=3"),
    "shakespeare-small": ("shakespeare-small", *QUICK, *SHORT),
    "presidents": ("presidents", *COURSE),
    "masked": ("arithmetic-pretrain", *COURSE),
    "pair-classifier": ("scene-entailment", *COURSE),
    "describer": ("scene-describer", *COURSE),
    "describer-decoder": ("scene-describer-decoder-only", *COURSE),
    "clip": ("scene-clip", *COURSE),
    "translator": ("scene-translator", *COURSE),
    "recurrent": ("characters", *QUICK, *SHORT[:4]),
    "lstm": (*LM, "model.kind=recurrent", "model.cell=lstm"),
}
STUDY = ("compare", *LM, "model.norm=layer,rms,none", "--seeds", "4", "--all-pairs", "--replicas", "2", "--name", "study")
# What a clock or the machine decides.
MEASURED = ("seconds", "per_second", "memory", "time")


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="record one run of this checkout, and compare it with itself")
    commands = parser.add_subparsers(dest="command")
    recording = commands.add_parser("record")
    recording.add_argument("--source", type=Path, default=SOURCE, help="the folder src of a checkout")
    recording.add_argument("--output", type=Path, required=True)
    recording.add_argument("--only", nargs="*", help="names of runs")
    comparing = commands.add_parser("compare")
    comparing.add_argument("records", type=Path, nargs=2)
    options = parser.parse_args()
    if options.smoke:
        recorded = record(SOURCE, ["demo"])
        sys.exit(compare(recorded, recorded))
    if options.command == "record":
        options.output.write_text(json.dumps(record(options.source.resolve(), options.only), indent=1))
    else:
        sys.exit(compare(*(json.loads(path.read_text()) for path in options.records)))


def record(source: Path, only: list[str] | None) -> dict[str, Any]:
    """Name -> what a run or the study ended with, or the end of its error."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in RUNS.items():
            if not only or name in only:
                results[name] = _run(source, Path(folder), ["train", *words, "--name", name]) or _ended(
                    Path(folder, "runs", name)
                )
                print(name, str(results[name])[-100:], flush=True)
        if not only or "study" in only:
            study = Path(folder, "studies", "study")
            results["study"] = _run(source, Path(folder), list(STUDY)) or _judged(study)
            print("study", str(results["study"])[-100:], flush=True)
    return results


def _run(source: Path, folder: Path, words: list[str]) -> dict[str, str]:
    """Run a command; empty if it succeeded."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "GLASSHOUSE_RUNS": str(folder / "runs")}
    command = [sys.executable, "-c", COMMAND, *words, "--device", "cpu"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {"error": done.stderr.strip()[-300:]} if done.returncode else {}


def _ended(run: Path) -> dict[str, Any]:
    last = max((run / "checkpoints").glob("step-*"))
    weights = hashlib.sha256((last / "model.safetensors").read_bytes()).hexdigest()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [{key: value for key, value in row.items() if not any(word in key for word in MEASURED)} for row in rows]
    return {"weights": weights, "losses": losses}


def _judged(study: Path) -> Any:
    def unmeasured(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: unmeasured(one) for key, one in value.items() if not any(word in key for word in MEASURED)}
        return [unmeasured(one) for one in value] if isinstance(value, list) else value

    judged = json.loads((study / "comparison.json").read_text())
    return {key: unmeasured(judged[key]) for key in ("arms", "pairs") if key in judged}


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; 1 if anything does."""
    differing = [name for name in before if before[name] != after.get(name)]
    failed = [name for name, result in before.items() if "error" in result]
    for name in differing:
        print(f"{name}: {json.dumps(before[name])[:300]}\n    now {json.dumps(after.get(name))[:300]}")
    print(
        f"{len(before) - len(differing)} of {len(before)} are the same; {len(failed)} failed when first recorded: {failed}"
    )
    return int(bool(differing))


if __name__ == "__main__":
    main()
