"""Fill in group labels. Many tables write the label of a group only in the first of the group's rows."""

from __future__ import annotations

from collections.abc import Sequence

from agentsvc_nb.documents.tables.layout import Row
from agentsvc_nb.documents.tables.model import Cell, ReadColumn, is_filled, text_of


def fill_group_labels(rows: list[Row], columns: Sequence[ReadColumn]) -> tuple[list[Row], int]:
    """Return the rows with the empty cells of the first column filled by the label above, and the number of filled
    cells.

    Return the rows unchanged unless labels clearly apply to the rows below: each label occurs once, and the second
    column always has a text that is unique in its group.
    """
    groups = _groups(rows, columns)
    if not groups:
        return rows, 0
    seconds = [[text_of(row.cells[1]) for row in group] for group in groups]
    if not all(all(texts) and len(set(texts)) == len(texts) for texts in seconds):
        return rows, 0
    made: list[Row] = []
    for group in groups:
        label: Cell = group[0].cells[0]
        made += [group[0], *(Row(row.number, [label, *row.cells[1:]]) for row in group[1:])]
    return made, len(rows) - len(groups)


def repeats_unclearly(rows: Sequence[Row], columns: Sequence[ReadColumn]) -> bool:
    """Return True if the labels of the first column may also apply to rows without a label below them.

    At least half of the rows must lack a label.
    """
    return 0 < len(_groups(rows, columns)) * 2 <= len(rows)


def _groups(rows: Sequence[Row], columns: Sequence[ReadColumn]) -> list[list[Row]]:
    """Divide the rows into groups, each of which begins with a label in the first column. Return [] if that is not
    possible."""
    if len(rows) < 3 or len(columns) < 3 or columns[0].kind == "number" or columns[1].kind not in ("text", "date"):
        return []
    labels = [text_of(cell) for cell in columns[0].cells if is_filled(cell)]
    if len(set(labels)) < len(labels) or len(labels) in (0, len(rows)) or not is_filled(rows[0].cells[0]):
        return []
    groups: list[list[Row]] = []
    for row in rows:
        if is_filled(row.cells[0]):
            groups.append([])
        groups[-1].append(row)
    return groups if max(map(len, groups)) > 1 else []
