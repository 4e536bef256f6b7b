"""The files of a chat as folders: the sorted entries of a folder, or the files below it that match some words."""

from __future__ import annotations

import functools
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from agentsvc_nb.notebook.display.file_table import kind_of
from agentsvc_nb.wire.files import WorkspaceFile

By = Literal["name", "kind", "size", "when"]
BY: Final[tuple[By, ...]] = get_args(By)
"""The columns that a list is sorted by."""


@dataclass(frozen=True, slots=True)
class Sort:
    """How a list is sorted."""

    by: By = "name"
    descending: bool = False


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder: a file, or a folder (`file` is None, and `path` ends with a slash).

    `name` is the path relative to the containing folder, `count` the number of files below, `bytes` their
    sizes together, and `newest` the latest of their times.
    """

    path: str
    name: str
    file: WorkspaceFile | None = None
    count: int = 1
    bytes: int = 0
    newest: str = ""

    @property
    def size_bytes(self) -> int:
        return self.file.size_bytes if self.file else self.bytes

    @property
    def updated_at(self) -> str:
        return (self.file.updated_at or "") if self.file else self.newest


class Folders:
    """The files of a chat, sorted by path, so that listing a folder need not read the paths outside of it.

    Args:
        files: in any order.

    Example:
        Folders(client.files.list(chat)).entries("reports/", sort=Sort("when", descending=True))[0].name
    """

    def __init__(self, files: Iterable[WorkspaceFile]) -> None:
        self._files = sorted(files, key=lambda file: file.path)
        self._paths = [file.path for file in self._files]

    def __len__(self) -> int:
        return len(self._files)

    @property
    def bytes(self) -> int:
        return sum(file.size_bytes for file in self._files)

    def entries(self, folder: str = "", words: str = "", sort: Sort = Sort()) -> list[FolderEntry]:
        """Return the entries of a folder, folders first; with `words`, all files below it whose path has each of them.

        `folder` is `""` or ends with a slash.
        """
        start = bisect_left(self._paths, folder)
        # "0" is the character after "/", so it ends the range of the paths in the folder.
        end = bisect_left(self._paths, f"{folder[:-1]}0") if folder else len(self._paths)
        if wanted := _folded(words).split():
            found = self._fitting(start, end, wanted, len(_folded(folder)))
            return in_order([FolderEntry(file.path, file.path[len(folder) :], file) for file in found], sort)
        inside: dict[str, list[WorkspaceFile]] = {}
        here: list[FolderEntry] = []
        for path, file in zip(self._paths[start:end], self._files[start:end], strict=True):
            if (slash := path.find("/", len(folder))) < 0:
                here.append(FolderEntry(path, path[len(folder) :], file))
            else:
                inside.setdefault(path[len(folder) : slash + 1], []).append(file)
        folders = [_folder(folder, name, files) for name, files in inside.items()]
        return in_order(folders, sort) + in_order(here, sort)

    def _fitting(self, start: int, end: int, wanted: list[str], cut: int) -> list[WorkspaceFile]:
        among = zip(self._files[start:end], self._names[start:end], strict=True)
        return [file for file, name in among if all(name.find(word, cut) >= 0 for word in wanted)]

    @functools.cached_property
    def _names(self) -> list[str]:
        return [_folded(path) for path in self._paths]


def above(folder: str) -> str:
    """Return the parent of a folder; of the outermost folder (`""`) itself."""
    return folder[: folder[:-1].rfind("/") + 1]


def position(entries: Sequence[FolderEntry], path: str = "", beginning: str = "", start: int = 0) -> int:
    """Return where the entry at a path is, or the next from `start` on, and then from the first on, whose name begins
    so in any case; -1 if there is none.
    """
    if not beginning:
        return next((at for at, entry in enumerate(entries) if entry.path == path), -1)
    wanted = _folded(beginning)
    fitting = [at for at, entry in enumerate(entries) if _folded(entry.name).startswith(wanted)]
    return next((at for at in fitting if at >= start), fitting[0] if fitting else -1)


def _folder(where: str, name: str, files: Sequence[WorkspaceFile]) -> FolderEntry:
    newest = max(file.updated_at or "" for file in files)
    return FolderEntry(where + name, name, None, len(files), sum(file.size_bytes for file in files), newest)


def in_order(entries: list[FolderEntry], sort: Sort) -> list[FolderEntry]:
    """Return the entries sorted; those that are alike stay in the order in which they are."""
    keys: Mapping[By, Callable[[FolderEntry], Any]] = {
        "name": lambda entry: _folded(entry.name),
        "kind": lambda entry: kind_of(entry.file) if entry.file else "",
        "size": lambda entry: entry.size_bytes,
        "when": lambda entry: entry.updated_at,
    }
    return sorted(entries, key=keys[sort.by], reverse=sort.descending)


def _folded(text: str) -> str:
    """Fold the case, and compose characters (NFC) as a keyboard does: macOS decomposes the names of files."""
    return unicodedata.normalize("NFC", text).casefold()
