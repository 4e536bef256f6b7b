"""The files of a chat as folders: what stands in one, in order, and what of it fits the words that are typed."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agentsvc_nb.notebook.tables import size
from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.files import WorkspaceFile

Order = Literal["name", "newest", "largest"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a folder: a file, or a folder, whose `path` ends with a slash."""

    path: str
    said: str
    file: WorkspaceFile | None = None


class Folders:
    """The files, ready to be looked through.

    Args:
        files: in any order.

    Example:
        [entry.said for entry in Folders(client.files.list(chat)).entries("reports/", order="newest")]
    """

    def __init__(self, files: Iterable[WorkspaceFile]) -> None:
        self._files = sorted(files, key=lambda file: file.path)
        self._paths = [file.path for file in self._files]

    def __len__(self) -> int:
        return len(self._files)

    @property
    def bytes(self) -> int:
        return sum(file.size_bytes for file in self._files)

    def entries(self, folder: str = "", words: str = "", order: Order = "name") -> list[Entry]:
        """What stands in a folder, folders first; with words all files below it whose path has each of them.

        A folder is `""`, or ends with a slash.
        """
        start = bisect_left(self._paths, folder)
        end = bisect_left(self._paths, f"{folder[:-1]}0") if folder else len(self._paths)  # "0" follows the slash
        below = self._files[start:end]
        if wanted := _folded(words).split():
            fitting = [file for file in below if _fits(file.path[len(folder) :], wanted)]
            return [_entry(file, folder) for file in _sorted(fitting, order)]
        inside = Counter(_first(file.path, folder) for file in below)
        folders = [_folder(folder + name, name, count) for name, count in inside.items() if name]
        here = [file for file in below if not _first(file.path, folder)]
        return [*folders, *(_entry(file, folder) for file in _sorted(here, order))]


def above(folder: str) -> str:
    """The folder that a folder stands in; of the outermost itself."""
    return folder[: folder[:-1].rfind("/") + 1]


def _first(path: str, folder: str) -> str:
    """The folder within `folder` that the path leads through, with its slash; empty when it leads through none."""
    return path[len(folder) : path.find("/", len(folder)) + 1]


def _folder(path: str, name: str, count: int) -> Entry:
    return Entry(path, f"{label(name[:-1])}/  ({count:,} file{'s' * (count != 1)})")


def _entry(file: WorkspaceFile, folder: str) -> Entry:
    named = f", {label(file.name, 80)}" if file.name else ""
    return Entry(file.path, f"{label(file.path[len(folder) :])}  ({size(file.size_bytes)}{named})", file)


def _sorted(files: list[WorkspaceFile], order: Order) -> list[WorkspaceFile]:
    if order == "newest":
        return sorted(files, key=lambda file: file.updated_at or "", reverse=True)
    return sorted(files, key=lambda file: file.size_bytes, reverse=True) if order == "largest" else files


def _fits(path: str, wanted: list[str]) -> bool:
    folded = _folded(path)
    return all(word in folded for word in wanted)


def _folded(text: str) -> str:
    """Letters without case, and composed as they are typed: a Mac's file names are decomposed."""
    return unicodedata.normalize("NFC", text).casefold()
