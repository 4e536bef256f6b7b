"""A DataFrame of the kernel as a CSV file, without what `masking` holds back: what an agent computes on that can't run
code."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agentsvc_nb.notebook.kernel.masking import Rules, labels_secret, telling
from agentsvc_nb.notebook.kernel.variables import MASKED, is_frame, said, user_variables
from agentsvc_nb.wire.text import label

ROWS_MAX: Final = 200_000
CELLS_MAX: Final = 2_000_000
"""The largest table that is copied: it takes a few seconds of the main thread."""
COPY_BYTES: Final = 50_000_000


def table_file(name: str, variables: Mapping[str, Any], rules: Rules) -> bytes:
    """The DataFrame in a variable as CSV. Raises `LookupError` with a sentence; never a part of the table, of which any
    sum would be wrong."""
    found = user_variables(variables, rules)
    if name not in found:
        raise LookupError(f"There is no variable {label(name, 80)}; list_variables says which there are.")
    frame = found[name]
    if not is_frame(frame):
        raise LookupError(f"{label(name, 80)} is no DataFrame.")
    if telling(name):
        raise LookupError(f"{label(name, 80)} is not told: its name says that a credential is in it.")
    rows, columns = frame.shape
    if rows > ROWS_MAX or rows * columns > CELLS_MAX:
        raise LookupError(
            f"{label(name, 80)} has {rows:,} rows and {columns:,} columns, and at most {ROWS_MAX:,} rows and "
            f"{CELLS_MAX:,} values are copied: make a smaller table of it."
        )
    data = _csv(frame, rules)
    if len(data) > COPY_BYTES:
        raise LookupError(f"{label(name, 80)} has {len(data):,} bytes, and at most {COPY_BYTES:,} are copied.")
    return data


def _csv(frame: Any, rules: Rules) -> bytes:
    if hasattr(frame, "reset_index") and any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    kept = [at for at, name in enumerate(names) if not rules.hides(name)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([label(names[at], 200) for at in kept])
    labels = frame.index if hasattr(frame, "index") else [None] * len(frame)
    for index, row in zip(labels, zip(*(_column(frame, at, names[at]) for at in kept), strict=True), strict=True):
        whole = labels_secret(index)
        writer.writerow([MASKED if whole or (at and labels_secret(row[at - 1])) else row[at] for at in range(len(row))])
    return written.getvalue().encode("utf-8", "replace")


def _column(frame: Any, at: int, name: str) -> Iterator[Any]:
    values = frame.iloc[:, at] if hasattr(frame, "iloc") else frame.to_series(at)
    if telling(name):
        return iter([MASKED] * len(values))
    text = _texts()
    return (text(value) for value in values.to_list())


def _texts() -> Callable[[Any], Any]:
    """What a cell of the file has for a value: each different text is masked once."""
    known: dict[str, Any] = {}

    def text(value: Any) -> Any:
        if value is None or _is_missing(value):
            return ""
        if isinstance(value, bool | int | float):
            return said(value)
        if isinstance(value, str):
            if value not in known:
                known[value] = said(value, 2_000)
            return known[value]
        return str(said(value, 2_000)).removesuffix(" 00:00:00")

    return text


def _is_missing(value: Any) -> bool:
    """Whether it is one of what pandas has for no value: NaN, NaT, NA."""
    return type(value).__name__ in ("NaTType", "NAType") or (isinstance(value, float) and value != value)
