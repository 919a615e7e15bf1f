"""`glasshouse demo`: from text to a trained GPT in one command."""

from glasshouse.cli.arguments import Device

EXAMPLES = "Example: glasshouse demo"


def demo(device: Device = "auto") -> None:
    """Train a small GPT on the State of the Union addresses, sample from it, write a report. About two minutes."""
    import glasshouse
    from glasshouse.cli.outcome import print_run, print_samples

    run = glasshouse.train(glasshouse.DEMO, name=None, device=device)
    print_samples(run)
    print_run(run)
