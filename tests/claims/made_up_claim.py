"""A made-up claim about two tiny models, with which the tests run whole trials in seconds."""

import math

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.runs.run import Run
from tests.cli.program import SMALL

TINY = (*SMALL, "model.layers=1", "data.tokenizer=characters", "evaluation.every=2")
ARMS = "model.position=learned,none"


class MadeUpClaim(Claim):
    """Upheld if every perplexity is finite. Uses all methods of the bench."""

    statement = "Learned positions lose <nothing> | to none."
    source = "made up for a test"
    reported = "1.0"
    rule = "upheld if the loss is finite"
    seeds = 3
    text = ""  # the path of the training text, set by a fixture

    def run_experiment(self, bench: Bench) -> Finding:
        words = ("language-model", *TINY, f"data.files={self.text}", "training.steps=4", ARMS)
        study = bench.compare("positions", *words, quick=("training.steps=2",))
        run = bench.train("alone", "language-model", *TINY, f"data.files={self.text}", "training.steps=2")
        assert isinstance(run, Run)
        values = bench.values(study, "none", "validation.perplexity")
        counted = bench.cached("counted", lambda: {"runs": len(bench.finished_runs(study, "none"))}, study)
        (bench.folder / "picture.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        perplexity = rules.format_with_seeds(values)
        return Finding(
            verdict="upheld" if all(map(math.isfinite, values.values())) else "refuted",
            because=f"perplexity {perplexity} of {counted['runs']} runs of {study.arms[0].steps} steps",
            scope="a page of made-up words",
            rows=(Evidence("perplexity, none", "1.0", perplexity),),
            studies=(study.name,),
            pictures=("picture.svg", "missing.svg"),
        )
