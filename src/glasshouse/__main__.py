"""The program `glasshouse`, also as `python -m glasshouse`."""

from glasshouse import interrupts


def main() -> None:
    """Run the command line. Ctrl-C is handled before its modules are imported, which takes a while."""
    interrupts.install()
    from glasshouse import cli

    cli.main()


if __name__ == "__main__":
    main()
