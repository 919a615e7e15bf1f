"""Glasshouse grows Transformers where you can see them.

Everything the commands do is a function here: `glasshouse.train("demo-lm")`, `glasshouse.compare(...)`, `run.sample(...)`.
torch is imported when the first function that needs it is used, so `import glasshouse` is instant.
"""

import gc
import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from glasshouse.version import __version__

# On ARM, torch allocates with mimalloc, which reads this variable when torch is loaded. By default freed memory goes back to
# the system after a tenth of a second, and every training step requests it anew, page by page. Here it waits ten seconds.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")

if TYPE_CHECKING:
    # What an editor and a type checker see. `_EXPORTS` below gives the same names at run time.
    from glasshouse.api.archives import pack, unpack
    from glasshouse.api.corpora import plan_data, prepare_data
    from glasshouse.api.corpus_jobs import submit_preparation
    from glasshouse.api.data import (
        LookedAtData,
        data_set,
        data_set_packages,
        data_sets,
        get_data,
        load_tokenizer,
        look_at_data,
        train_tokenizer,
    )
    from glasshouse.api.debates import debate
    from glasshouse.api.exchange import certify, export
    from glasshouse.api.experiments import augment, features, few_shot
    from glasshouse.api.imports import import_model
    from glasshouse.api.inspection import (
        attribute,
        explore,
        gradients,
        head_statistics,
        heads,
        layers,
        lens,
        look,
        patch,
        pruning_curves,
    )
    from glasshouse.api.jobs import cancel, cluster_example, jobs, jobs_folder
    from glasshouse.api.listings import (
        delete_runs,
        recipe_fields,
        recipes,
        rename_run,
        run_differences,
        runs_folder,
        runs_overview,
    )
    from glasshouse.api.llms import (
        ask,
        grid,
        open_chat,
        open_grid,
        open_language_model,
        open_recovery,
        recover,
        recovery_error,
        run_grid,
        write_recovered,
    )
    from glasshouse.api.machine import doctor, measure_steps, plan_cluster
    from glasshouse.api.pages import live_pages, open_browser, serve_pages, write_pages
    from glasshouse.api.parts import capabilities, part_families, parts_of
    from glasshouse.api.pictures import describe, prompt
    from glasshouse.api.replays import replay
    from glasshouse.api.reports import card, report
    from glasshouse.api.run import Run, prune
    from glasshouse.api.runs import (
        check_output,
        classify,
        evaluate,
        list_runs,
        metrics_of,
        open_run,
        predict,
        predict_file,
        sample,
        suggestions,
        translate,
        translate_file,
        write_lines,
        write_predictions,
    )
    from glasshouse.api.scaling import (
        list_scale_studies,
        open_scale_study,
        scale_check,
        scale_countings,
        scale_fit,
        scale_forecast,
        scale_plan,
        scale_predict,
        scale_run,
        scale_study_of,
        scale_transfer,
        scaling_content,
        transfer_content,
        write_scaling_figures,
        write_scaling_page,
        write_transfer_figures,
        write_transfer_page,
    )
    from glasshouse.api.serving import serve
    from glasshouse.api.studies import (
        check_claims,
        claims_report,
        compare,
        judge_all_pairs,
        list_claims,
        list_studies,
        open_study,
        studies_folder,
        sweep,
        try_claim,
    )
    from glasshouse.api.study import Study
    from glasshouse.api.submission import train_task, training_script
    from glasshouse.api.training import DEMO, plan, resume, run_as_rank, spec_of, train, train_replicas
    from glasshouse.certificates.checks import Check
    from glasshouse.generation.text_stream import Completion
    from glasshouse.launching.cluster_settings import Slurm
    from glasshouse.launching.job_status import JobStatus
    from glasshouse.launching.submission import Submission
    from glasshouse.results.claim import Case
    from glasshouse.runs.run import Translation
    from glasshouse.specs.errors import GlasshouseError
    from glasshouse.training.cluster_prediction import ClusterPlan
    from glasshouse.training.cost_plan import Plan
    from glasshouse.training.kept_measurements import SpeedMeasurement

_EXPORTS = {
    "api.archives": ("pack", "unpack"),
    "api.corpora": ("plan_data", "prepare_data"),
    "api.corpus_jobs": ("submit_preparation",),
    "api.data": (
        "LookedAtData",
        "data_set",
        "data_set_packages",
        "data_sets",
        "get_data",
        "load_tokenizer",
        "look_at_data",
        "train_tokenizer",
    ),
    "api.debates": ("debate",),
    "api.exchange": ("certify", "export"),
    "api.experiments": ("augment", "features", "few_shot"),
    "api.inspection": (
        "attribute",
        "explore",
        "gradients",
        "head_statistics",
        "heads",
        "layers",
        "lens",
        "look",
        "patch",
        "pruning_curves",
    ),
    "api.imports": ("import_model",),
    "api.jobs": ("cancel", "cluster_example", "jobs", "jobs_folder"),
    "api.listings": (
        "delete_runs",
        "recipe_fields",
        "recipes",
        "rename_run",
        "run_differences",
        "runs_folder",
        "runs_overview",
    ),
    "api.llms": (
        "ask",
        "grid",
        "open_chat",
        "open_grid",
        "open_language_model",
        "open_recovery",
        "recover",
        "recovery_error",
        "run_grid",
        "write_recovered",
    ),
    "api.machine": ("doctor", "measure_steps", "plan_cluster"),
    "api.pages": ("live_pages", "open_browser", "serve_pages", "write_pages"),
    "api.parts": ("capabilities", "part_families", "parts_of"),
    "api.pictures": ("describe", "prompt"),
    "api.replays": ("replay",),
    "api.reports": ("card", "report"),
    "api.run": ("Run", "prune"),
    "api.runs": (
        "check_output",
        "classify",
        "evaluate",
        "list_runs",
        "metrics_of",
        "open_run",
        "predict",
        "predict_file",
        "sample",
        "suggestions",
        "translate",
        "translate_file",
        "write_lines",
        "write_predictions",
    ),
    "api.scaling": (
        "list_scale_studies",
        "open_scale_study",
        "scale_check",
        "scale_countings",
        "scale_forecast",
        "scale_fit",
        "scale_plan",
        "scale_predict",
        "scale_run",
        "scale_study_of",
        "scale_transfer",
        "scaling_content",
        "transfer_content",
        "write_scaling_figures",
        "write_scaling_page",
        "write_transfer_figures",
        "write_transfer_page",
    ),
    "api.serving": ("serve",),
    "api.studies": (
        "check_claims",
        "claims_report",
        "compare",
        "judge_all_pairs",
        "list_claims",
        "list_studies",
        "open_study",
        "studies_folder",
        "sweep",
        "try_claim",
    ),
    "api.submission": ("train_task", "training_script"),
    "api.training": ("DEMO", "plan", "resume", "run_as_rank", "spec_of", "train", "train_replicas"),
    "certificates.checks": ("Check",),
    "generation.text_stream": ("Completion",),
    "launching.cluster_settings": ("Slurm",),
    "launching.job_status": ("JobStatus",),
    "launching.submission": ("Submission",),
    "results.claim": ("Case",),
    "runs.run": ("Translation",),
    "specs.errors": ("GlasshouseError",),
    "api.study": ("Study",),
    "training.cluster_prediction": ("ClusterPlan",),
    "training.cost_plan": ("Plan",),
    "training.kept_measurements": ("SpeedMeasurement",),
}
_NAMES = {name: module for module, names in _EXPORTS.items() for name in names}
# Packages that can be used directly: `glasshouse.parts.MultiHeadAttention`.
_PACKAGES = ("data", "inspection", "models", "parts", "runs", "tokenizers")

__all__ = [
    "DEMO",
    "Case",
    "Check",
    "ClusterPlan",
    "Completion",
    "GlasshouseError",
    "JobStatus",
    "LookedAtData",
    "Plan",
    "Run",
    "Slurm",
    "SpeedMeasurement",
    "Study",
    "Submission",
    "Translation",
    "__version__",
    "ask",
    "attribute",
    "augment",
    "cancel",
    "capabilities",
    "card",
    "certify",
    "check_claims",
    "check_output",
    "claims_report",
    "classify",
    "cluster_example",
    "compare",
    "data_set",
    "data_set_packages",
    "data_sets",
    "debate",
    "delete_runs",
    "describe",
    "doctor",
    "evaluate",
    "explore",
    "export",
    "features",
    "few_shot",
    "get_data",
    "gradients",
    "grid",
    "head_statistics",
    "heads",
    "import_model",
    "jobs",
    "jobs_folder",
    "judge_all_pairs",
    "layers",
    "lens",
    "list_claims",
    "list_runs",
    "list_scale_studies",
    "list_studies",
    "live_pages",
    "load_tokenizer",
    "look",
    "look_at_data",
    "measure_steps",
    "metrics_of",
    "open_browser",
    "open_chat",
    "open_grid",
    "open_language_model",
    "open_recovery",
    "open_run",
    "open_scale_study",
    "open_study",
    "pack",
    "part_families",
    "parts_of",
    "patch",
    "plan",
    "plan_cluster",
    "plan_data",
    "predict",
    "predict_file",
    "prepare_data",
    "prompt",
    "prune",
    "pruning_curves",
    "recipe_fields",
    "recipes",
    "recover",
    "recovery_error",
    "rename_run",
    "replay",
    "report",
    "resume",
    "run_as_rank",
    "run_differences",
    "run_grid",
    "runs_folder",
    "runs_overview",
    "sample",
    "scale_check",
    "scale_countings",
    "scale_fit",
    "scale_forecast",
    "scale_plan",
    "scale_predict",
    "scale_run",
    "scale_study_of",
    "scale_transfer",
    "scaling_content",
    "serve",
    "serve_pages",
    "spec_of",
    "studies_folder",
    "submit_preparation",
    "suggestions",
    "sweep",
    "train",
    "train_replicas",
    "train_task",
    "train_tokenizer",
    "training_script",
    "transfer_content",
    "translate",
    "translate_file",
    "try_claim",
    "unpack",
    "write_lines",
    "write_pages",
    "write_predictions",
    "write_recovered",
    "write_scaling_figures",
    "write_scaling_page",
    "write_transfer_figures",
    "write_transfer_page",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(_import(f"glasshouse.{_NAMES[name]}"), name)
    if name in _PACKAGES:
        return _import(f"glasshouse.{name}")
    raise AttributeError(f"module 'glasshouse' has no attribute {name!r}")


def _import(name: str) -> ModuleType:
    """Import a module without garbage collection. What an import makes stays, and looking through it again and again takes a
    tenth of the time of `import torch`."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES, *_PACKAGES])
