"""Every colour of the pages, charts and image files by its role. A colour is changed here and nowhere else."""

# Role -> its colour in light mode and in dark mode. Print and image files are always light.
COLOURS = {
    "paper": ("#fcfdfb", "#0f1512"),
    "raised": ("#f4f7f4", "#161e1a"),
    "ink": ("#18221d", "#e3ebe6"),
    "soft": ("#55645c", "#9fb0a7"),
    "faint": ("#66746c", "#7c8d85"),
    "hairline": ("#e0e7e2", "#26312b"),
    "accent": ("#1b7f5a", "#5ac497"),
    "accent-wash": ("#e3f1ea", "#17322680"),
    # For small text: the contrast with its background must be at least 4.5 to 1.
    "accent-ink": ("#16704e", "#5ac497"),
    "ochre-ink": ("#96600f", "#dba24b"),
    "quiet": ("#93a199", "#7d8d84"),
    "ochre": ("#b06f12", "#dba24b"),
    "blue": ("#3d6ea8", "#82aee0"),
    "plum": ("#8b4a7b", "#cf93c2"),
    "rust": ("#a8432f", "#ea8d78"),
    "teal": ("#2b8a9c", "#6fc3d3"),
    "olive": ("#7a7a1f", "#c3c36a"),
    "better": ("#1b7f5a", "#5ac497"),
    "worse": ("#a63d24", "#ec8f75"),
    "marked": ("#f6e3ba", "#5a431a"),
    "shade-0": ("transparent", "transparent"),
    "shade-1": ("#eef6f1", "#13241c"),
    "shade-2": ("#d6ebdf", "#163526"),
    "shade-3": ("#b4dcc7", "#194a34"),
    "shade-4": ("#8bcaab", "#1c6143"),
    "shade-5": ("#62b68e", "#1d7450"),
}
LIGHT = {role: light for role, (light, _) in COLOURS.items()}
DARK = {role: dark for role, (_, dark) in COLOURS.items()}
# The colours of the curves of a page: the first of several is quiet. With more curves, the dash of the line changes.
TONES = ("quiet", "accent", "ochre", "blue", "plum")
# The colours of the lines of a figure that stands alone.
FIGURE_TONES = ("accent", "ochre", "blue", "plum", "soft", "rust", "teal", "olive")
# Those of words and of backgrounds in charts.
OTHER_TONES = ("ink", "faint", "accent-wash", "better", "worse")
# Stops of one hue: a weight is encoded in lightness alone, so a map reads the same with colour blindness.
RAMPS = {
    "light": ("#f6f9f7", "#d3e9dd", "#86c6a6", "#2f8f68", "#0d553d", "#042a1e"),
    "dark": ("#151d19", "#183a2d", "#1f6a4c", "#3dab7d", "#a2e4c5", "#f2fdf7"),
}


def tones(how_many: int) -> list[str]:
    """A tone for each of `how_many` curves: a single one has the accent."""
    return ["accent"] if how_many == 1 else [TONES[index % len(TONES)] for index in range(how_many)]


def variables() -> str:
    """The colours as variables of a style sheet, and a class for each, which sets `--tone`."""

    def block(mode: dict[str, str]) -> str:
        return ":root {" + " ".join(f"--{role}: {colour};" for role, colour in mode.items()) + "}"

    classes = " ".join(
        f".{role} {{ --tone: var(--{role}); }}" for role in dict.fromkeys((*TONES, *FIGURE_TONES, *OTHER_TONES))
    )
    return f"{block(LIGHT)}\n@media screen and (prefers-color-scheme: dark) {{ {block(DARK)} }}\n{classes}"
