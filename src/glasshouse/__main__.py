"""`python -m glasshouse`: the command, where the program is not installed beside Python."""

from glasshouse.cli import main

main()
