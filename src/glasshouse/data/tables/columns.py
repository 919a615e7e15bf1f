"""Find the columns that a task needs: by name, by number, by a name that others use, or by their content."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from glasshouse.data.tables import class_labels, number_columns
from glasshouse.data.tables.delimited import ROW_NUMBERS
from glasshouse.data.tables.table import DataTable
from glasshouse.specs.errors import DataError, Remedy
from glasshouse.specs.spec import DataSpec

# A column has few values if a value has at least so many rows on average, or if there are at most so many values.
MIN_ROWS_PER_VALUE = 4
MAX_FEW_VALUES = 20
# A column of texts must be so many times as long as every other column to be found by its length.
LENGTH_RATIO = 1.5

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
# Of the cells of a column that holds the file names of pictures.
MOST_PICTURES = 0.9
# Pandas calls a column of row numbers "Unnamed: 0" when it reads one without a name.
ROW_NUMBER_NAMES = (ROW_NUMBERS, "unnamed: ")

SYNONYMS = {
    "text": "sentence sentences content body document review comment message tweet utterance question text1 sentence1 "
    "premise tokens words source src input english en",
    "label": "class category sentiment rating stars score topic intent labels tag target y",
    "target": "translation tgt output answer german de",
    "second": "text2 sentence2 hypothesis answer context",
    "picture": "image img photo file filename file_name path image_path image_file",
    "caption": "text description title sentence alt label",
    "tags": "ner_tags pos_tags ner labels label tag",
}


class AmbiguousColumn(DataError):
    """Several columns that could have the same role."""


@dataclass(frozen=True)
class ColumnRequest:
    """A column that a task needs.

    `name` is its name or number, and `is_named` says that the user chose it. `role` is what the column is to the task, and
    `setting` the option that sets it, if there is one. `kind` is what its cells are: text, category, number, list, picture
    (the name of a file) or any.
    """

    name: str
    role: str
    kind: str = "text"
    setting: str = ""
    is_named: bool = False

    @property
    def choice(self) -> Remedy:
        return Remedy(self.setting, "NAME", "set the column by name or number:")


# Role -> the setting of a data spec that names the column, if there is one, and what its cells are.
ROLES = {
    "text": ("field", "text"),
    "label": ("label", "category"),
    "labels": ("label", "list"),
    "value": ("label", "number"),
    "tags": ("label", "list"),
    "second": ("second", "text"),
    "target": ("target", "text"),
    "group": ("group", "any"),
    "picture": ("", "picture"),
    "caption": ("", "text"),
}


def request(data: DataSpec, role: str) -> ColumnRequest:
    """The column that has a role, as a data spec names it."""
    setting, kind = ROLES[role]
    if not setting:
        return ColumnRequest(role, role, kind)
    name = getattr(data, setting)
    usual = {"group": ()}.get(role, (role, "label") if setting == "label" else (role,))
    return ColumnRequest(name, role, kind, f"data.{setting}", name not in usual)


def find(table: DataTable, requests: Sequence[ColumnRequest]) -> tuple[list[int], list[str]]:
    """The index of each requested column, and remarks on those that were found by their content.

    Raises DataError if a column is missing or could be several.
    """
    if table.roles and all(request.role in table.roles for request in requests):
        return [table.roles.index(request.role) for request in requests], []
    named = ((number, _by_name(table, request)) for number, request in enumerate(requests))
    found = {number: index for number, index in named if index is not None}  # request -> column
    for number, request in enumerate(requests):
        if number not in found and (index := _by_synonym(table, request, list(found.values()))) is not None:
            found[number] = index
    by_content = [number for number in range(len(requests)) if number not in found]
    # Columns that are known by their kind leave fewer for the texts.
    for number in sorted(by_content, key=lambda number: requests[number].kind == "text"):
        found[number] = _by_content(table, requests, number, found)
    indices = [found[number] for number in range(len(requests))]
    usual = not table.named and indices == list(range(len(requests)))
    guessed = [
        (request, index)
        for request, index in zip(requests, indices, strict=True)
        if request.name.lower() != table.names[index].lower() and request.name != str(index + 1)
    ]
    if not guessed or usual:
        return indices, []
    remedy = " and ".join(request.setting for request, _ in guessed if request.setting)
    remedy = f"set {remedy}" if remedy else f"name the columns {' and '.join(request.name for request in requests)}"
    told = ", ".join(f"{request.role} is {table.called(index)}" for request, index in guessed)
    return indices, [f"{table.path.name}: {told}, by the look of it; otherwise {remedy}"]


def _by_name(table: DataTable, request: ColumnRequest) -> int | None:
    if table.named:
        if request.name in table.names:
            return table.names.index(request.name)
        same = [index for index, name in enumerate(table.names) if name.lower() == request.name.lower()]
        if len(same) == 1:
            return same[0]
    if request.name.isdecimal() and 1 <= int(request.name) <= len(table.names):
        return int(request.name) - 1
    # A file without a header has no names, so the names that a spec gives for other files do not apply to it.
    if request.is_named and (table.named or request.name.isdecimal()):
        raise _missing(table, request)
    return None


def _by_synonym(table: DataTable, request: ColumnRequest, taken: Collection[int]) -> int | None:
    if not table.named:
        return None
    words = [request.role, *SYNONYMS.get(request.role, SYNONYMS["label"]).split()]
    # A nested field is known by its own name or by its last part.
    parts = [(name.lower(), name.lower().rpartition(".")[2]) for name in table.names]
    known = [index for index, names in enumerate(parts) if not set(names).isdisjoint(words) and index not in taken]
    fitting = [index for index in known if fits(table, index, request.kind)]
    if not fitting and request.kind == "category":
        # A classifier refuses a single class in plain words.
        fitting = [index for index in known if len(cells := table.column(index)) > 1 and len(set(cells)) == 1]
    return fitting[0] if len(fitting) == 1 else None


def _by_content(table: DataTable, requests: Sequence[ColumnRequest], number: int, found: Mapping[int, int]) -> int:
    request = requests[number]
    free = [index for index in range(len(table.names)) if index not in found.values()]
    missing = [other for other in range(len(requests)) if other not in found]
    if len(free) < len(missing):
        raise _missing(table, request)
    fitting = [index for index in free if fits(table, index, request.kind)]
    if request.kind != "text":
        best = _fewest_values(table, fitting)
    else:
        best = _longest(table, fitting) if len(missing) == 1 else None
    if best is not None:
        return best
    # In the order in which the task names them.
    in_order = dict(zip(missing, free, strict=False))
    all_fit = all(fits(table, index, requests[other].kind) for other, index in in_order.items())
    if len(free) == len(missing) and (all_fit or not table.named):
        return in_order[number]
    if len(fitting) < 2:
        raise _missing(table, request)
    cells = {index: table.column(index) for index in fitting}
    candidates = (f"{table.names[index]} ({len(set(of))} values, such as {of[0][:30]!r})" for index, of in cells.items())
    raise AmbiguousColumn(
        f"{table.path}: several columns could be the {request.role}: {', '.join(candidates)}",
        remedies=[request.choice, "leave the others out of the file"],
    )


def _longest(table: DataTable, fitting: Sequence[int]) -> int | None:
    cells = {index: table.column(index) for index in fitting}
    lengths = {index: sum(map(len, texts)) / max(len(texts), 1) for index, texts in cells.items()}
    longest = sorted(lengths, key=lambda index: -lengths[index])
    clear = len(longest) == 1 or (len(longest) > 1 and lengths[longest[0]] >= LENGTH_RATIO * lengths[longest[1]])
    return longest[0] if clear else None


def _fewest_values(table: DataTable, fitting: Sequence[int]) -> int | None:
    """The only column that fits. Without names: the one that clearly has fewer values than the others."""
    if len(fitting) == 1:
        return fitting[0]
    values = {index: len(set(table.column(index))) for index in fitting}
    fewest = sorted(values, key=lambda index: values[index])
    clear = not table.named and len(fewest) > 1 and values[fewest[0]] * MIN_ROWS_PER_VALUE <= values[fewest[1]]
    return fewest[0] if clear else None


def fits(table: DataTable, index: int, kind: str) -> bool:
    cells = table.column(index)
    if not cells:
        return False
    if kind == "category":
        most = max(len(cells) // MIN_ROWS_PER_VALUE, min(MAX_FEW_VALUES, len(cells) - 1))
        return 1 < len(set(cells)) <= most
    if kind in ("row number", "number"):
        if _numbers_the_rows(table.names[index], cells):
            return kind == "row number"
        return kind == "number" and len(set(cells)) > 1 and number_columns.looks_like_numbers(cells)
    if kind == "list":
        return class_labels.are_lists(cells)
    named_pictures = sum(text.lower().endswith(PICTURE_SUFFIXES) for text in cells) >= MOST_PICTURES * len(cells)
    if kind == "picture":
        return named_pictures
    return not named_pictures and not number_columns.looks_like_numbers(cells)  # kind text


def _numbers_the_rows(name: str, cells: Sequence[str]) -> bool:
    """Whether the cells are 0, 1, 2, ... or 1, 2, 3, ...: the number of the row, which says nothing about it.

    A column with the name of a row number may have its numbers in any order.
    """
    if name.lower().startswith(ROW_NUMBER_NAMES) and len(set(cells)) == len(cells) and all(map(str.isdecimal, cells)):
        return True
    return any(cells == [str(number) for number in range(first, first + len(cells))] for first in (0, 1))


def _missing(table: DataTable, request: ColumnRequest) -> DataError:
    name = request.name
    rename = f"make it column {name} of the file" if name.isdecimal() else f"call that column {name!r} in the file"
    return DataError(
        f"{table.path} has no column {name!r} for the {request.role} (its columns: {table.listing()})",
        remedies=[request.choice, rename],
    )
