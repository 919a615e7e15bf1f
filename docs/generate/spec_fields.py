"""Every field of a spec as one page, `docs/reference/spec.md`: from the dataclasses, and from what parts declare."""

from glasshouse.specs import catalogue, declared, spec_fields
from glasshouse.specs.spec import SECTIONS
from glasshouse.specs.spec_fields import SpecField
from glasshouse.specs.spec_files import ALIASES

HEAD = """# Spec fields

This page is generated from the code (`make pages`); a test checks that it is current. A spec is a TOML file with a task and
the tables below. Any field can be changed on the command line by its dotted name:
`glasshouse train demo-lm model.position=alibi training.steps=500`. `glasshouse recipes NAME` shows the fields of a recipe.

A task, a part, a head or a kind of model can declare settings of its own. They are fields of the same table, and exist only
if that task or part is chosen; others refuse them.
"""
ABOUT = {
    "data": "The text (or pairs, labels, pictures) and how it becomes tokens.",
    "model": "The parts of the model and their sizes.",
    "model.head": "How the features of the model become predictions.",
    "training": "Optimiser, schedule, fine-tuning, precision and checkpoints.",
    "evaluation": "The evaluations during training and at the end.",
}


ALIASES_HEAD = """## Names of other programs

In overrides, these names stand for a field, as in `glasshouse train demo-lm lr=1e-3`. Glasshouse says which field it is.

| name | field |
|---|---|"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## `task`", "", f"What the model is trained to do: {_words(catalogue.names('task'))}.", ""]
    for section, cls in SECTIONS.items():
        lines += [f"## `[{section}]`", "", ABOUT[section], "", "| field | meaning | default |", "|---|---|---|"]
        for name, field in spec_fields.fields(cls).items():
            lines.append(f"| `{section}.{name}` | {_meaning(field)} | {_default(field)} |")
        lines.append("")
        declarations = declared.declarations(section)
        if declarations:
            lines += ["Declared by tasks and parts:", "", "| field | of | meaning | default |", "|---|---|---|---|"]
            for name, owners in declarations.items():
                lines += _own_rows(f"{section}.{name}", owners)
            lines.append("")
    lines += [ALIASES_HEAD, *(f"| `{alias}` | `{field}` |" for alias, field in ALIASES.items()), ""]
    return "\n".join(lines)


def _own_rows(name: str, owners: list[tuple[str, SpecField]]) -> list[str]:
    """A row for each meaning of a setting, naming all the parts that declare it so."""
    meanings: dict[tuple[str, str], list[str]] = {}
    for owner, field in owners:
        meanings.setdefault((_meaning(field), _default(field)), []).append(f"`{owner}`")
    return [f"| `{name}` | {', '.join(of)} | {about} | {default} |" for (about, default), of in meanings.items()]


def _meaning(field: SpecField) -> str:
    rule = field.rule
    words = rule.choices or (catalogue.names(rule.family) if rule.family and rule.family != "source" else ())
    return rule.about.replace("|", "\\|") + (f": {_words(words)}" if words else "")


def _default(field: SpecField) -> str:
    value = field.default
    if isinstance(value, tuple):
        value = f"[{', '.join(value)}]"
    elif isinstance(value, bool):
        value = str(value).lower()
    return f"`{value}`" if value != "" else ""


def _words(words: object) -> str:
    return ", ".join(f"`{word}`" for word in words)  # type: ignore[attr-defined]
