"""Names of settings in other programs that mean the same as a field here, in the same unit. Overrides accept them."""

ALIASES = {
    "lr": "training.learning_rate",
    "learning_rate": "training.learning_rate",
    "batch_size": "training.batch",
    "epochs": "training.epochs",
    "num_epochs": "training.epochs",
    "num_train_epochs": "training.epochs",
    "steps": "training.steps",
    "max_iters": "training.steps",
    "max_steps": "training.steps",
    "seed": "training.seed",
    "weight_decay": "training.weight_decay",
    "grad_clip": "training.clip",
    "max_grad_norm": "training.clip",
    "warmup_ratio": "training.warmup",
    "optimizer": "training.optimiser",
    "label_smoothing": "training.label_smoothing",
    "block_size": "data.context",
    "max_length": "data.context",
    "max_seq_len": "data.context",
    "vocab_size": "data.vocabulary",
    "n_layer": "model.layers",
    "num_layers": "model.layers",
    "n_head": "model.heads",
    "num_heads": "model.heads",
    "n_embd": "model.width",
    "d_model": "model.width",
    "hidden_size": "model.width",
    "d_ff": "model.feed_forward",
    "dropout": "model.dropout",
    "eval_interval": "evaluation.every",
}


def with_full_name(word: str) -> str:
    """An override with the name of its field, if it has an alias: `lr=1e-3` is `training.learning_rate=1e-3`."""
    name, equals, value = word.partition("=")
    return f"{ALIASES.get(name.strip(), name)}{equals}{value}"
