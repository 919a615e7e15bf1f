"""The page of the attention maps of one text: one HTML file that works offline. Knows nothing of models."""

from pathlib import Path

from glasshouse import formatting
from glasshouse.pages import attention_heatmap, figures, template
from glasshouse.records import atomic_files
from glasshouse.results.report import AttentionMap
from glasshouse.specs.errors import GlasshouseError

SUFFIXES = (".html", *figures.SUFFIXES)
# A page holds every weight, in two bytes or more.
MOST_WEIGHTS = 40_000_000


def check_path(path: Path) -> None:
    atomic_files.check_output(path, SUFFIXES)


def write(attention: AttentionMap, path: Path, title: str, first_layer: int = 1, first_head: int = 1) -> None:
    if path.suffix.lower() in figures.SUFFIXES:
        figures.attention(attention, path, first_layer, first_head)
        return
    if attention.weights.size > MOST_WEIGHTS:
        maps = f"these maps have {attention.weights.size:,} weights"
        raise GlasshouseError(f"{maps}, and a page holds {MOST_WEIGHTS:,}; choose a layer and a head, or a .png file")
    atomic_files.write_text(path, render(attention, title, first_layer, first_head))


def render(attention: AttentionMap, title: str, first_layer: int = 1, first_head: int = 1) -> str:
    """The whole page. It is complete without JavaScript; the scripts only add interaction."""
    return template.fill(
        "attention.html",
        scripts=("page.js", "attention.js"),
        title=title,
        attention=section(attention, first_layer, first_head),
    )


def section(attention: AttentionMap, first_layer: int = 1, first_head: int = 1) -> dict[str, object]:
    """The values of the template attention_section.html."""
    return {
        "layers": attention.weights.shape[0],
        "columns": attention.weights.shape[1],
        "heads": attention_heatmap.heads(attention, first_layer, first_head),
        "large_map": attention_heatmap.large_map(attention),
        "tokens": _visible_tokens(attention.tokens),
        "sources": _visible_tokens(attention.sources) if attention.sources else None,
        "aspect_ratio": f"{len(attention.keys)} / {len(attention.tokens)}",
        "data": attention_heatmap.pack(attention),
    }


def _visible_tokens(tokens: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Each token with visible whitespace, and whether it contains a line break."""
    return [(formatting.visible(token), "\n" in token) for token in tokens]
