"""A hook of MkDocs: a notebook becomes a page of the site, with its outputs and pictures as they are stored in it.

Formulas are drawn as SVG paths in the colour of the text, so the page needs neither MathJax nor a network. Nothing is
executed.
"""

import base64
import json
import re
from html import escape
from pathlib import PurePosixPath
from typing import Any

import matplotlib
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath, text_to_path
from mkdocs.structure.files import File, Files

SIZE = 100  # units of a drawn formula in one em of its font
SCALE = 1.1 / SIZE  # em of the text in one unit: this font looks smaller than the text
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
PLAIN_TEXT = re.compile(r"`[^`]*`|" + FORMULA.pattern, re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Replace every notebook by a page."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        notebook = json.loads(file.content_string)
        files.remove(file)
        pictures: list[bytes] = []
        stem = PurePosixPath(file.src_uri).with_suffix("").as_posix()
        text = "\n\n".join(_cell(cell, stem, pictures) for cell in notebook["cells"])
        files.append(File.generated(config, f"{stem}.md", content=text + "\n"))
        for number, picture in enumerate(pictures, 1):
            files.append(File.generated(config, f"{stem}/{number}.png", content=picture))
    return files


def _cell(cell: dict[str, Any], stem: str, pictures: list[bytes]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return PLAIN_TEXT.sub(_with_drawn_formula, source)
    return "\n\n".join([_fence(source, "python"), *(_output(output, stem, pictures) for output in cell["outputs"])])


def _output(output: dict[str, Any], stem: str, pictures: list[bytes]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        pictures.append(base64.b64decode("".join(data["image/png"])))
        return f"![Picture {len(pictures)}, drawn by the cell above]({PurePosixPath(stem).name}/{len(pictures)}.png)"
    return _fence("".join(output.get("text", data.get("text/plain", ""))).rstrip("\n"), "text")


def _fence(text: str, language: str) -> str:
    return f"``````{language}\n{text}\n``````"


def _with_drawn_formula(match: re.Match[str]) -> str:
    """The formula as SVG; code stays as it is."""
    block, inline = match.groups()
    if block is None and inline is None:
        return match[0]
    if block is None:
        return _formula(inline)
    # A line of its own: punctuation after the formula would look odd in a picture.
    return f'<div class="formula">{_formula(block.strip().rstrip(",. "))}</div>'


def _formula(latex: str) -> str:
    """An SVG element that stands on the baseline of its line."""
    text = f"${latex}$"
    with matplotlib.rc_context({"mathtext.fontset": "stix"}):
        font = FontProperties(size=SIZE)
        width, height, descent = text_to_path.get_text_width_height_descent(text, font, ismath=True)
        path = TextPath((0, 0), text, size=SIZE, prop=font)
    commands = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        numbers = " ".join(f"{value:.1f}" for value in points)
        commands.append("Z" if code == 79 else f"{' MLQC'[code]}{numbers}")
    label = escape(latex, quote=True)
    view = f"-2 {descent - height - 2:.1f} {width + 4:.1f} {height + 4:.1f}"
    style = f"height: {SCALE * (height + 4):.3f}em; vertical-align: {-SCALE * (descent + 2):.3f}em"
    return (
        f'<svg class="formula" role="img" aria-label="{label}" viewBox="{view}" style="{style}">'
        f'<path transform="scale(1 -1)" d="{"".join(commands)}" fill="currentColor"/></svg>'
    )
