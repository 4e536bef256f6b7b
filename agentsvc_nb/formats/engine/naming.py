"""The names of a chat's tables: no two are alike, and they stay when other files are asked about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from agentsvc_nb.formats.plans.profiles import TableProfile


def file_names(paths: Iterable[str]) -> dict[str, str]:
    """The name of each file's first table: the file's own, without its ending."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        names[path] = _free(_plain(PurePosixPath(path).stem) or "table", taken)
    return names


def named(files: Mapping[str, Sequence[TableProfile]], names: Mapping[str, str]) -> dict[str, tuple[TableProfile, ...]]:
    """The tables of files, by path, with their names: further tables of a file have those of their sheets behind the
    file's. `names` are those of all files of the chat (`file_names`)."""
    taken = set(names.values())
    made = {}
    for path, tables in files.items():
        first = names[path]
        made[path] = tuple(
            replace(
                table,
                name=_free(_plain(f"{first}_{table.sheet}"), taken) if place else first,
                path=path,
                sheet=table.sheet if len(tables) > 1 else "",
            )
            for place, table in enumerate(tables)
        )
    return made


def _plain(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
