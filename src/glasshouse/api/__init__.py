"""The public interface: a plain function for everything that a command does. `import glasshouse` offers them all.

The command line calls these functions and prints their results.
"""

from glasshouse.results.shown import Shown


def _draw(result: Shown) -> str:
    """The display of a result in a notebook. The pages are imported when one is shown."""
    from glasshouse.api import notebook

    return notebook.draw(result)


Shown.draw = _draw
