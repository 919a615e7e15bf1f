"""Open runs: their model, tokenizer, spec and metrics; and use them: sample, evaluate, classify, translate, embed."""

from glasshouse.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "api.runs": "Run metrics_of predict_file translate_file write_predictions",
        "api.listings": "delete_runs pack recipe_fields recipes rename_run run_differences runs_folder runs_overview unpack",
        "api.inspection": "explore gradients head_statistics layers pruning_curves",
        "api.experiments": "describe features few_shot prompt replay",
        "api.exchange": "certify",
        "api.reports": "card",
        "api.serving": "live_pages serve_pages write_pages",
        "api.training": "spec_of train_replicas",
    },
)
