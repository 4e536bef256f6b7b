"""Decode files, which may be hostile, in a child process (docs/decisions/10). `child` is the program of that process.

`read_table` uses it to read a local file as a DataFrame, in the same way as the agent reads files.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client import downloads
from agentsvc_nb.documents.child_process import LimitedChild, Limits
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import pandas as pd


CHILD: Final = "agentsvc_nb.notebook.previews.child"
SECONDS: Final = 20.0
"""The maximum time for decoding one file, in seconds."""
ANSWER_BYTES: Final = 1_000_000
"""The maximum size in bytes of a result for a preview."""
LIMITS: Final = Limits(memory_bytes=2**30, file_bytes=0)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class CannotShow(Exception):
    """A file has no preview. The message is a sentence that says why."""


class Decoder:
    """Runs a child process that decodes files, one after the other. Not thread-safe.

    The process is started for the first file. If a file exceeds the limits, a new process is started for the next file.

    Example: `with Decoder() as decoder: found = decoder.decode("medium", path)`
    """

    def __init__(self) -> None:
        self._child: LimitedChild | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child:
            self._child.close()
            self._child = None

    def decode(self, decoder: str, path: Path, answer_bytes: int = ANSWER_BYTES) -> dict[str, Any]:
        """Decode a file with this decoder of `child`. The result is not trusted: the file may have influenced it.

        Raises `CannotShow` when the file cannot be decoded within the limits.
        """
        child = self._child = self._child or LimitedChild(CHILD, limits=LIMITS, folder=path.parent)
        question = json.dumps([decoder, str(path)]).encode("ascii")  # the child's encoding may differ
        answer = child.ask(question, SECONDS, answer_bytes)
        if not answer.endswith(b"\n"):
            # The line is incomplete: the child was killed at a limit, or it is still busy. Start a new child for the
            # next file.
            self.__exit__()
            if len(answer) <= answer_bytes:
                raise CannotShow("The preview took too much time or memory, or the file is damaged.")
        try:
            found = read_json(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise CannotShow("The program that decodes the file returned an unreadable result.")
        if reason := found.get("error"):
            raise CannotShow(label(reason, 300))
        return found


def decode(decoder: str, path: Path, answer_bytes: int = ANSWER_BYTES) -> dict[str, Any]:
    """Decode one file in a separate child process. Raises `CannotShow` when the file can't be decoded."""
    with Decoder() as child:
        return child.decode(decoder, path, answer_bytes)


def data_uri(picture: object, limit: int = 100_000) -> str:
    """Return the data URI of a WebP picture, which is given in base64.

    Raises `CannotShow` if `picture` is not base64, or has more than `limit` characters.
    """
    if not isinstance(picture, str) or len(picture) > limit or not _BASE64.fullmatch(picture):
        raise CannotShow("The program that decodes the file returned no picture.")
    return f"data:image/webp;base64,{picture}"


_TABLES_BYTES: Final = 50_000_000


def read_table(path: str | os.PathLike[str], *, sheet: str | None = None) -> pd.DataFrame:
    """Read a table in a file as a DataFrame, in the same way as `%files preview` and the offline agent.

    Supported are CSV of any kind, workbooks, Parquet, JSON, and the tables in HTML, Markdown and Word files, up to 8 MB
    of cells. Lines above the header and total rows are left out. Numbers and dates are converted to their types.

    Args:
        sheet: the name of a table in the file; by default the first.

    In the DataFrame's `attrs`, `notes` are sentences about how the file was interpreted, and `units` are the units of
    columns.

    Raises:
        AskError: the file or sheet does not exist, or the file can't be read as a table.

    >>> client.map(read_table("ads.csv"), "Shorten: {{Ad name}}")  # doctest: +SKIP
    """
    place = Path(path).expanduser().absolute()
    if not place.is_file():
        raise AskError(f"The file {label(place.name)!r} does not exist; nothing was sent.")
    try:
        found = decode("tables", place, _TABLES_BYTES)["tables"]
    except CannotShow as reason:
        raise AskError(f"{label(place.name)} can't be read as a table: {reason}") from None
    chosen = next((one for one in found if sheet is None or one["name"] == sheet), None)
    if chosen is None:
        names = ", ".join(label(one["name"], 40) for one in found[:10])
        raise AskError(f"The file has no table {label(sheet)!r}.", f"Its tables are: {names}.")
    csv, schema = chosen["csv"].encode(), chosen["schema"].encode()
    return downloads.read_table(csv, schema, path=str(path), notes=chosen["notes"])
