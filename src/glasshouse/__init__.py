"""Glasshouse grows Transformers where you can see them.

    run = glasshouse.train("demo-lm")
    run.sample("Once upon a time")
    glasshouse.compare("demo-lm", "model.position=learned,rotary", seeds=8).verdicts

Here are the names that most people need. The others are in packages: `glasshouse.scaling.fit`, `glasshouse.cluster.jobs`.
torch is imported when the first function that needs it is used, so `import glasshouse` is instant.
"""

import os
from typing import TYPE_CHECKING

from glasshouse.faces import face
from glasshouse.version import __version__

# On ARM, torch allocates with mimalloc, which reads this variable when torch is loaded. By default freed memory goes back to
# the system after a tenth of a second, and every training step requests it anew, page by page. Here it waits ten seconds.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")

if TYPE_CHECKING:
    # The names for an editor and a type checker. `_NAMES` gives the same ones at run time.
    from glasshouse.api.exchange import export as export
    from glasshouse.api.exchange import import_model as import_model
    from glasshouse.api.experiments import prune as prune
    from glasshouse.api.inspection import attribute as attribute
    from glasshouse.api.inspection import heads as heads
    from glasshouse.api.inspection import lens as lens
    from glasshouse.api.inspection import look as look
    from glasshouse.api.inspection import patch as patch
    from glasshouse.api.reports import report as report
    from glasshouse.api.runs import Run as Run
    from glasshouse.api.runs import classify as classify
    from glasshouse.api.runs import evaluate as evaluate
    from glasshouse.api.runs import list_runs as list_runs
    from glasshouse.api.runs import open_run as open_run
    from glasshouse.api.runs import predict as predict
    from glasshouse.api.runs import sample as sample
    from glasshouse.api.runs import translate as translate
    from glasshouse.api.serving import serve as serve
    from glasshouse.api.studies import Study as Study
    from glasshouse.api.studies import compare as compare
    from glasshouse.api.studies import list_studies as list_studies
    from glasshouse.api.studies import open_study as open_study
    from glasshouse.api.studies import sweep as sweep
    from glasshouse.api.studies import try_claim as try_claim
    from glasshouse.api.training import plan as plan
    from glasshouse.api.training import resume as resume
    from glasshouse.api.training import train as train
    from glasshouse.launching.cluster_settings import Slurm as Slurm
    from glasshouse.specs.errors import GlasshouseError as GlasshouseError

_NAMES = {
    "api.exchange": "export import_model",
    "api.experiments": "prune",
    "api.inspection": "attribute heads lens look patch",
    "api.reports": "report",
    "api.runs": "Run classify evaluate list_runs open_run predict sample translate",
    "api.serving": "serve",
    "api.studies": "Study compare list_studies open_study sweep try_claim",
    "api.training": "plan resume train",
    "launching.cluster_settings": "Slurm",
    "specs.errors": "GlasshouseError",
}
# Packages that can be used without importing them: `glasshouse.parts.MultiHeadAttention`.
_PACKAGES = (
    "claims",
    "cluster",
    "data",
    "inspection",
    "llms",
    "models",
    "parts",
    "runs",
    "scaling",
    "studies",
    "tokenizers",
    "verdicts",
)

__all__ = [*(name for names in _NAMES.values() for name in names.split()), "__version__"]
__getattr__, __dir__ = face(__name__, _NAMES, _PACKAGES)
