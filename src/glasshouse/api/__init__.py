"""The public interface: a plain function for everything that a command does. `import glasshouse` offers them all.

The command line calls these functions and prints their results.
"""

from collections.abc import Callable
from html import escape
from typing import Any

from glasshouse.results.shown import Shown


def _draw(result: Shown) -> str:
    """The display of a result in a notebook: its page, in a frame. The pages are imported when one is shown."""
    from glasshouse.pages import attention_page, explorer_page, retrieval_page, scaling_page, study_page

    renders: dict[str, Callable[[Any], str]] = {
        "AttentionMap": lambda maps: attention_page.render(maps, "Attention"),
        "Exploration": explorer_page.render,
        "Retrieval": retrieval_page.render,
        "ScalingContent": scaling_page.render,
        "StudyResults": study_page.render,
    }
    page = renders[type(result).__name__](result)
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:720px;border:0"></iframe>'


Shown.draw = _draw
