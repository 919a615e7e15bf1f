"""The page of a server: write a prompt and see the tokens stream in. It talks to its own server only."""

from collections.abc import Sequence

from glasshouse.pages import template, token_shading


def render(models: Sequence[str], others: Sequence[tuple[str, str]], most_tokens: int) -> str:
    """The page. `models` continue texts; `others` are the other models, with the path that answers for each."""
    return template.fill(
        "playground.html",
        styles=("page.css", "playground.css"),
        scripts=("page.js", "playground.js"),
        models=models,
        others=others,
        most_tokens=most_tokens,
        edges=token_shading.EDGES,
    )
