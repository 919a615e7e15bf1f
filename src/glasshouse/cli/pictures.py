"""Write the captions of pictures, and rank prompts by their similarity to a picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from glasshouse.cli.options import Device, Run, argument, option, writes_output
from glasshouse.cli.tables import console, show


@writes_output
def describe(
    run: Run,
    pictures: Annotated[
        list[str] | None,
        argument("Picture files, or numbers of held-out pictures; default: the first six of these.", "PICTURE"),
    ] = None,
    output: Annotated[Path | None, option("The image file to write: .png, .svg or .pdf.")] = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Write the caption of each picture, beside that of the data where it has one.

    Examples:
        glasshouse describe scene-describer fish.png
        glasshouse describe scene-describer 0 1 2 --output captions.png
        glasshouse describe scene-describer --json
    """
    from glasshouse.api.experiments import describe

    found = describe(run, pictures or (), output, device)
    yield [{"picture": each.name, "text": each.text, "caption": each.caption} for each in found]
    known = any(each.caption for each in found)
    rows = [(each.name, each.text, *((each.caption,) if known else ())) for each in found]
    show(("picture", "the model writes", *(("caption of the data",) if known else ())), rows)


@writes_output
def prompt(
    run: Run,
    prompts: Annotated[
        list[str] | None, argument("Texts, each in quotes; default: the captions most similar to the picture.", "PROMPT")
    ] = None,
    target: Annotated[str | None, option("A picture file, or the number of a held-out picture; default: 0.")] = None,
    pictures: Annotated[int, option("The number of pictures to retrieve for each prompt.", low=0, high=10000)] = 6,
    output: Annotated[Path | None, option("The page to write, .html; default: prompting.html in the run.")] = None,
    device: Device = "auto",
) -> Iterator[object]:
    """Rank prompts by their similarity to a picture, and write a page with the pictures that each prompt retrieves.

    Examples:
        glasshouse prompt scene-clip --target fish.png "two goldfish" "two nemos"
        glasshouse prompt scene-clip --target 12 "two red circles" --output prompts.html
        glasshouse prompt scene-clip
    """
    from glasshouse.api.experiments import prompt
    from glasshouse.pages.retrieval_page import ordinal

    result, path = prompt(run, prompts or (), target, pictures, output, device)
    rows = [
        {
            "prompt": ranked.prompt,
            "similarity": ranked.similarity,
            "caption_place": ranked.caption_place,
            "picture_place": ranked.picture_place,
            "unknown": ranked.unknown,
            "retrieved": [{"caption": item.caption, "similarity": item.similarity} for item in ranked.retrieved],
        }
        for ranked in result.prompts
    ]
    yield {"target": result.name, "caption": result.caption, "prompts": rows, "page": str(path)}
    console.print(f"{result.name}: {result.caption}" if result.caption else result.name)
    show(
        (
            "prompt",
            "similarity",
            f"rank of {result.captions:,} captions",
            f"rank of target, {result.pictures:,} pictures",
            "unknown words",
        ),
        [
            (
                ranked.prompt,
                f"{ranked.similarity:.3f}",
                ordinal(ranked.caption_place),
                ordinal(ranked.picture_place),
                ", ".join(ranked.unknown),
            )
            for ranked in result.prompts
        ],
        right=(1, 2, 3),
    )
    if output is None:
        console.print(f"wrote {path}")
