"""The course's Pig Latin translator as overrides of the recipes, its word lists, and their stand-ins. Knows no claim."""

RECIPE = "piglatin-encoder-decoder"
# The course's layer: attention with one head, residual, one linear layer with ReLU, residual; no norm. Without a norm the
# initial weights decide how large activations are, so they are those of the course, PyTorch's defaults: embeddings with a
# standard deviation of 1, and matrices with 1 / sqrt(3 n) for n inputs.
LAYER = (
    "model.activation=relu-single-layer",
    "model.norm=none",
    "model.heads=1",
    "model.tied=false",
    "model.dropout=0",
    "model.initialisation=0.58",
    "model.embedding_deviation=1",
)
# The course multiplies Adam's learning rate by 0.99 after each of 100 epochs. The cosine ends at the same share, 0.99^100.
OPTIMISER = (
    "training.learning_rate=5e-4",
    "training.schedule=cosine",
    "training.warmup=0",
    "training.final=0.366",
    "training.beta2=0.999",
    "training.weight_decay=0",
)
# 100 epochs of the small list, as in the course. The large list takes equally many steps of equally many words.
STEPS = 4000
# One batch holds all held-out words, so that translating them takes little time.
LENGTH = (f"training.steps={STEPS}", "training.epochs=0", "evaluation.batch=512")
# Candidates for tuned learning rates. The reported rate is among them.
TUNE = "training.learning_rate=5e-4,1e-3,2e-3,4e-3,8e-3"
# Size of a list -> the name of its source. The lists of a pair hold out the same words.
COURSE_LISTS = {"small": "course-pig-latin-small", "large": "course-pig-latin"}
STAND_INS = {"small": "pig-latin-small", "large": "pig-latin"}
# In nats per character: a tenth of the smallest reported loss. Smaller differences do not matter.
MARGIN = 0.05
# Studies that are shown beside the verdict have at most this many seeds.
SEEDS_BESIDE = 8
# The short context truncates long words, because a quick run would spend most of its time on translating them.
QUICK = (
    "training.steps=2",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=2",
    "model.layers=1",
    "data.context=6",
)
