"""Is the loss the same with fewer bits? A language model in bfloat16, with its residual stream in bfloat16, and in fp8.

    python benchmarks/number_formats.py                       # needs a GPU with fp8 products: some minutes
    python benchmarks/number_formats.py --seeds 16 --jobs 4   # more seeds, four processes at a time
    python benchmarks/number_formats.py --smoke               # does it run? On any machine, two steps, no figure

The model has 14 million parameters and learns the Python code of this machine's packages. Each form gives one validation
loss for each seed. The differences are judged as in a study: larger than the margin, smaller, or not decided.
"""

import argparse
import json
import subprocess
import sys
import time

import glasshouse
from glasshouse.parts import fp8_products
from glasshouse.records import machine, progress_bar
from glasshouse.training import devices
from glasshouse.training.job import Job
from glasshouse.training.replicas import evaluate
from glasshouse.verdicts import verdict
from glasshouse.verdicts.verdict import VerdictRule

FORMS: dict[str, tuple[str, ...]] = {
    "bf16": ("training.bf16_residual=false",),
    "residual stream in bf16": ("training.bf16_residual=true",),
    "products in fp8 too": ("training.bf16_residual=true", "training.fp8_products=true"),
}
MODEL = (
    *("data.megabytes=60", "data.vocabulary=8192", "data.context=256", "model.width=384", "model.layers=6", "model.heads=6"),
    *("model.feed_forward=1536", "training.batch=32", "training.optimiser=adamw", "training.learning_rate=1e-3"),
    *("training.precision=bf16", "evaluation.tokens=200000"),
)
SMOKE = (
    *("data.megabytes=1", "data.vocabulary=272", "data.context=16", "model.width=32", "model.layers=1", "model.heads=2"),
    *("model.feed_forward=64", "training.compile=false", "training.batch=2", "evaluation.tokens=200"),
)
# A difference of the validation loss (nats) that would matter.
MARGIN = 0.01


def final_loss(form: str, seed: int, steps: int, smoke: bool) -> float:
    """The validation loss after so many steps."""
    changes = (*MODEL, *FORMS[form], *(SMOKE if smoke else ()), f"training.steps={steps}", f"training.seed={seed}")
    job = Job.prepare(glasshouse.runs.spec_of("python-code", *changes), devices.pick("auto"))
    engine = job.engine("bf16")
    for step in range(steps):
        engine.step(step)
    return evaluate(engine, job.prepared.splits["validation"], final=False).metrics["loss"]


def losses(forms: list[str], seeds: int, steps: int, jobs: int, smoke: bool) -> dict[str, dict[int, float]]:
    """Form -> seed -> loss, from processes of one form and some seeds each."""
    waiting = [(form, list(range(first, seeds, jobs))) for form in forms for first in range(min(jobs, seeds))]
    results: dict[str, dict[int, float]] = {form: {} for form in forms}
    running: list[subprocess.Popen[str]] = []
    with progress_bar.bar("training") as show:
        while waiting or running:
            while waiting and len(running) < jobs:
                form, own_seeds = waiting.pop(0)
                work = json.dumps([form, own_seeds, steps, smoke])
                command = [sys.executable, __file__, "--work", work]
                running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            time.sleep(0.1)
            for process in [process for process in running if process.poll() is not None]:
                running.remove(process)
                assert process.stdout
                if process.returncode:
                    raise SystemExit(f"a process ended with exit code {process.returncode}")
                for line in process.stdout.read().splitlines():
                    form, seed, loss = json.loads(line)
                    results[form][seed] = loss
                show(sum(map(len, results.values())) / (len(forms) * seeds))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=6, help="processes at a time")
    parser.add_argument("--smoke", action="store_true", help="a tiny model for two steps: does it run?")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        form, seeds, steps, smoke = json.loads(options.work)
        for seed in seeds:
            print(json.dumps([form, seed, final_loss(form, seed, steps, smoke)]), flush=True)
        return
    device = devices.pick("auto")
    print(", ".join(f"{name} {value}" for name, value in machine.describe(str(device)).items()))
    forms = list(FORMS) if fp8_products.available(device) else list(FORMS)[:2]
    if len(forms) < len(FORMS):
        print(f"{list(FORMS)[-1]}: left out, this machine has no such products")
    if options.smoke:
        options.seeds, options.steps, options.jobs = 2, 2, 1
    found = losses(forms, options.seeds, options.steps, options.jobs, options.smoke)
    print("seed  " + "  ".join(f"{form:>24}" for form in forms))
    for seed in range(options.seeds):
        print(f"{seed:4}  " + "  ".join(f"{found[form][seed]:24.4f}" for form in forms))
    for difference in verdict.judge(found, VerdictRule(margin=MARGIN)).values():
        print(difference.sentence)


if __name__ == "__main__":
    main()
