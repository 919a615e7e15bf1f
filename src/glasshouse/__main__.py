"""`python -m glasshouse`: the command line, for use where the program `glasshouse` is not on the path."""

from glasshouse.cli import main

main()
