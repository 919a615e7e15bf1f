"""A page that ranks prompts by their similarity to a picture: an HTML file that works offline. Knows nothing of models."""

import numpy as np

from glasshouse.pages import template
from glasshouse.results.retrieval import Retrieval


def render(content: Retrieval) -> str:
    highest = max([prompt.similarity for prompt in content.prompts] + [value for _, value in content.closest] + [1e-9])
    return template.fill(
        "retrieval.html",
        content=content,
        data_url=data_url,
        share=lambda value: f"{max(0.0, value / highest):.1%}",
        ordinal=ordinal,
    )


def data_url(picture: np.ndarray) -> str:
    from PIL import Image

    return template.image_url(Image.fromarray(picture))


def ordinal(number: int) -> str:
    """Format a rank: 1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
