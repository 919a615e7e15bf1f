"""The display of results in a notebook: the page of a result, in a frame of its own."""

from html import escape

from glasshouse.pages import attention_page, explorer_page, retrieval_page, scaling_page, study_page
from glasshouse.results.exploration import Exploration
from glasshouse.results.report import AttentionMap
from glasshouse.results.retrieval import Retrieval
from glasshouse.results.scaling import ScalingContent, TransferContent
from glasshouse.results.shown import Shown
from glasshouse.results.study import StudyResults


def draw(result: Shown) -> str:
    """The HTML that a notebook puts below the cell."""
    return f'<iframe srcdoc="{escape(_page(result))}" style="width:100%;height:720px;border:0"></iframe>'


def _page(result: Shown) -> str:
    match result:
        case StudyResults():
            return study_page.render(result)
        case AttentionMap():
            return attention_page.render(result, "Attention")
        case Exploration():
            return explorer_page.render(result)
        case ScalingContent():
            return scaling_page.render(result)
        case TransferContent():
            return scaling_page.render_transfer(result)
        case Retrieval():
            return retrieval_page.render(result)
    raise TypeError(f"{type(result).__name__} has no page")
