"""Prints what was understood of the user's own files, and what a run on them would do."""

from glasshouse.api.data import LookedAtData
from glasshouse.cli.plan_output import milliseconds
from glasshouse.cli.tables import console, show
from glasshouse.formatting import count, duration, size

CLASSES_SHOWN = 12
# Of the letters, for a script to be named.
SMALLEST_SHARE = 0.005


def print_look(found: LookedAtData, words: list[str]) -> None:
    """Print columns, splits, classes, lengths, examples and remarks; then the command that trains on them, and its cost."""
    look = found.look
    if look is not None:
        if look.columns:
            show(
                ("column", "kind", "values", "empty", "example"),
                [
                    (one.name, one.kind, _counted(one.values, one.sampled), _counted(one.empty, one.sampled), one.example)
                    for one in look.columns
                ],
                right=(2, 3),
            )
        rows = [(split.name, f"{split.documents:,}", size(split.bytes)) for split in look.splits]
        if rows:
            show(("split", "documents", "text"), rows, right=(1, 2))
        if look.classes:
            _print_classes(look.classes)
        facts = []
        if look.words:
            median, long, longest = look.words.values()
            length = f"half of the texts have up to {median:,.0f} words, 95 % up to {long:,.0f}, all up to {longest:,.0f}"
            facts.append(("length", length))
        if found.truncated:
            context = f"{found.truncated:.1%} of the texts are longer than data.context={found.spec.data.context}"
            facts.append(("context", context))
        if look.repeated:
            facts.append(("repeats", f"{look.repeated:,} rows have the text of an earlier row"))
        if look.scripts:
            scripts = [f"{script} {share:.0%}" for script, share in look.scripts[:4] if share >= SMALLEST_SHARE]
            facts.append(("letters", ", ".join(scripts)))
        if facts:
            show(("what", "found"), facts)
        if look.examples:
            show(("example", "text"), list(look.examples))
    for note in found.notes:
        console.print(note, markup=False)
    if found.refusal:
        return
    console.print(f"\ntrain with:  glasshouse train {found.recipe} {' '.join(words)}", markup=False)
    if plan := found.plan:
        console.print(
            f"which has {count(sum(plan.parameters.values()))} parameters and takes {plan.steps:,} steps of "
            f"{milliseconds(plan.step_seconds)}: {duration(plan.seconds)} on this machine",
            markup=False,
        )


def _counted(number: int, sampled: bool) -> str:
    """A count; a plus says that only the first rows were counted."""
    return f"{number:,}{'+' if sampled else ''}"


def _print_classes(classes: tuple[tuple[str, int], ...]) -> None:
    total = sum(rows for _, rows in classes)
    shown = [(name, f"{rows:,}", f"{rows / total:.1%}") for name, rows in classes[:CLASSES_SHOWN]]
    if len(classes) > CLASSES_SHOWN:
        rest = sum(rows for _, rows in classes[CLASSES_SHOWN:])
        shown.append((f"{len(classes) - CLASSES_SHOWN} more", f"{rest:,}", f"{rest / total:.1%}"))
    show((f"{len(classes)} classes" if len(classes) > 1 else "1 class", "rows", "share"), shown, right=(1, 2))
