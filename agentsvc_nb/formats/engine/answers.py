"""What is asked of a chat's tables, and answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentsvc_nb.formats.charts.choosing import ChartKind
from agentsvc_nb.formats.plans.profiles import TableProfile


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables of a file, by its path; none if it is `unreadable`, which is why, in a sentence."""

    path: str
    tables: tuple[TableProfile, ...] = ()
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of a query's rows: the first column across, the others up."""

    kind: ChartKind
    title: str = ""


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The first rows of a query: cells are numbers, None, or texts. `more`: there are further rows. `notes` are how the
    tables were read, `picture` is a PNG."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    notes: tuple[str, ...] = ()
    picture: bytes = b""
