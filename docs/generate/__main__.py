"""Write the generated pages: `python -m docs.generate`, which `make pages` and `make docs` call."""

from pathlib import Path

from docs.generate import commands, diagrams, parts, spec_fields

PAGES = {
    "pictures/compare.svg": diagrams.compare,
    "pictures/train.svg": diagrams.train,
    "reference/commands.md": commands.page,
    "reference/parts.md": parts.page,
    "reference/spec.md": spec_fields.page,
}


def main() -> None:
    for name, page in PAGES.items():
        (Path(__file__).parent.parent / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
