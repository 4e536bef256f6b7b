"""Decode files that may be hostile in a process of their own (docs/decisions/0022): the parent's side of `child`.

Also files on this machine as DataFrames, read as the agent reads them (docs/decisions/0050-where-tables-are-read.md).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client import downloads
from agentsvc_nb.documents.child_process import LimitedChild, Limits
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import pandas as pd


CHILD: Final = "agentsvc_nb.notebook.previews.child"
PATIENCE_SECONDS: Final = 20.0
"""How long the decoding of one file may take."""
ANSWER_BYTES: Final = 1_000_000
"""The longest answer that is read, if it is to be shown."""
LIMITS: Final = Limits(memory_bytes=2**30, file_bytes=0)
"""The limits of the process. The child itself limits the processor time of each file."""


def asked(decoder: str, place: Path, answer_bytes: int = ANSWER_BYTES) -> dict[str, Any]:
    """Decode one file with the decoder of `child` of this name. Raises `CannotShow` when it cannot be decoded."""
    with Decoder(decoder, answer_bytes) as child:
        return child.asked(place)


class Decoder:
    """A decoder of `child` in a process that decodes files one after the other. Not thread-safe.

    The process is started with the first file, and again after a file that exceeded its limits.
    """

    def __init__(self, name: str, answer_bytes: int = ANSWER_BYTES) -> None:
        self._name = name
        self._answer_bytes = answer_bytes
        self._child: LimitedChild | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def asked(self, place: Path) -> dict[str, Any]:
        """Decode a file and return the decoder's answer, which is to be trusted no more than the file.

        Raises `CannotShow` when the file cannot be decoded within the limits.
        """
        child = self._child = self._child or LimitedChild(CHILD, self._name, limits=LIMITS, folder=place.parent)
        question = json.dumps(str(place)).encode("ascii")  # ASCII, because the child may have another locale
        answer = child.ask(question, PATIENCE_SECONDS, self._answer_bytes)
        if not answer.endswith(b"\n"):
            # No whole line: the child was killed at a limit, or is still busy. The next file gets a new one.
            self._end()
            if len(answer) <= self._answer_bytes:
                raise CannotShow("it takes too long or too much memory to be looked at, or it is damaged.")
        found = _parsed(answer)
        if reason := found.get("error"):
            raise CannotShow(label(reason, 300))
        return found

    def _end(self) -> None:
        if child := self._child:
            self._child = None
            child.close()


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        found = read_json(answer)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CannotShow("its decoder gave no answer that can be read.")
    return found


_ANSWER_BYTES: Final = 50_000_000


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None) -> pd.DataFrame:
    """The table of a file, read as `%files preview` shows it and the offline agent computes with it: lines above the
    header and rows of totals are no rows, numbers and dates have their types. CSV of any kind, workbooks, Parquet,
    JSON, and the tables of HTML, Markdown and Word; up to 8 MB of cells.

    Args:
        sheet: which table of the file; without it the first.

    Its `attrs` have `notes`, sentences on what was decided, and the `units` of columns.

    Raises:
        AskError: there is no such file or sheet, or the file can't be read as a table.

    >>> client.map(read_table("ads.csv"), "Shorten: {{Ad name}}")  # doctest: +SKIP
    """
    place = Path(path).expanduser().absolute()
    if not place.is_file():
        raise AskError(f"There is no file {label(place.name)!r} to be read as a table.")
    try:
        found = asked("tables", place, _ANSWER_BYTES)["tables"]
    except CannotShow as reason:
        raise AskError(f"{label(place.name)} can't be read as a table: {reason}") from None
    return _frame(_chosen(found, sheet), str(path))


def _chosen(found: list[dict[str, Any]], sheet: str | None) -> dict[str, Any]:
    for one in found:
        if sheet is None or one["name"] == sheet:
            return one
    names = ", ".join(label(one["name"], 40) for one in found[:10])
    raise AskError(f"There is no table {label(sheet)!r} in the file.", f"Its tables are: {names}.")


def _frame(one: dict[str, Any], path: str) -> pd.DataFrame:
    return downloads.read_table(one["csv"].encode(), one["schema"].encode(), path=path, notes=one["notes"])
