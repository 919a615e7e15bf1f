"""The layers of the package, which tests of the code and of the documentation share."""

# From the top down; the README's tree shows the same order.
LAYERS = [
    "cli",
    "sklearn",
    "api",
    "claims",
    "certificates",
    "serving",
    "llms",
    "studies",
    "inspection",
    "interop",
    "runs",
    "training",
    "tasks",
    "generation",
    "models",
    "parts",
    "data",
    "tokenizers",
    "pages",
    "metrics",
    "records",
    "specs",
    "formatting",
    "version",
]
