"""The files of a chat as folders: the sorted entries of a folder, or the files below it that match some words."""

from __future__ import annotations

import functools
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import label

Order = Literal["name", "newest", "largest"]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder: a file, or a folder (`file` is None, and `path` ends with a slash).

    `name` is the path relative to the containing folder, `count` the number of files below.
    """

    path: str
    name: str
    file: WorkspaceFile | None = None
    count: int = 1

    @property
    def said(self) -> str:
        """The entry's line in a list, without control characters."""
        if self.file is None:
            return f"{label(self.name[:-1])}/  ({self.count:,} file{'s' * (self.count != 1)})"
        named = f", {label(self.file.name, 80)}" if self.file.name else ""
        return f"{label(self.name)}  ({size(self.file.size_bytes)}{named})"


class Folders:
    """The files of a chat, sorted by path, so that listing a folder need not read the paths outside of it.

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

    def entries(self, folder: str = "", words: str = "", order: Order = "name") -> list[FolderEntry]:
        """Return the entries of a folder, folders first; with `words`, all files below it whose path has each of them.

        `folder` is `""` or ends with a slash.
        """
        start = bisect_left(self._paths, folder)
        # "0" is the character after "/", so it ends the range of the paths in the folder.
        end = bisect_left(self._paths, f"{folder[:-1]}0") if folder else len(self._paths)
        if wanted := _folded(words).split():
            found = self._fitting(start, end, wanted, len(_folded(folder)))
            return [FolderEntry(file.path, file.path[len(folder) :], file) for file in _sorted(found, order)]
        inside, here = Counter[str](), []
        for path, file in zip(self._paths[start:end], self._files[start:end], strict=True):
            if (slash := path.find("/", len(folder))) < 0:
                here.append(file)
            else:
                inside[path[len(folder) : slash + 1]] += 1
        folders = [FolderEntry(folder + name, name, None, count) for name, count in inside.items()]
        return folders + [FolderEntry(file.path, file.path[len(folder) :], file) for file in _sorted(here, order)]

    def _fitting(self, start: int, end: int, wanted: list[str], cut: int) -> list[WorkspaceFile]:
        among = zip(self._files[start:end], self._names[start:end], strict=True)
        return [file for file, name in among if all(name.find(word, cut) >= 0 for word in wanted)]

    @functools.cached_property
    def _names(self) -> list[str]:
        return [_folded(path) for path in self._paths]


def above(folder: str) -> str:
    """Return the parent of a folder; of the outermost folder (`""`) itself."""
    return folder[: folder[:-1].rfind("/") + 1]


def _sorted(files: list[WorkspaceFile], order: Order) -> list[WorkspaceFile]:
    if order == "newest":
        return sorted(files, key=lambda file: file.updated_at or "", reverse=True)
    return sorted(files, key=lambda file: file.size_bytes, reverse=True) if order == "largest" else files


def _folded(text: str) -> str:
    """Fold the case, and compose characters (NFC) as a keyboard does: macOS decomposes the names of files."""
    return unicodedata.normalize("NFC", text).casefold()
