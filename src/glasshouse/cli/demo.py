"""`glasshouse demo`: train a small GPT as a first example."""

from glasshouse.cli.arguments import Device

EXAMPLES = "Example: glasshouse demo"


def demo(device: Device = "auto") -> None:
    """Train a small GPT on the State of the Union addresses, sample from it and write a report. Takes about two minutes."""
    import glasshouse
    from glasshouse.api import training
    from glasshouse.cli.run_output import print_run, print_samples

    run = glasshouse.train(training.DEMO, name=None, device=device)
    print_samples(run)
    print_run(run)
