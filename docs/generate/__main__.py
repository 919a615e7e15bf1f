"""Write the generated pages: `python -m docs.generate`, which `make docs` calls."""

from pathlib import Path

from docs.generate import commands, parts

PAGES = {"commands.md": commands.page, "parts.md": parts.page}


def main() -> None:
    for name, page in PAGES.items():
        (Path(__file__).parent.parent / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
