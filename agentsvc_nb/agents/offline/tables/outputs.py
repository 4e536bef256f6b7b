"""What an answer computed, left as files: its table, and a chart of it (docs/api/files.md "Tables and charts")."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.agents.offline.tables.charts import ChartWish
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.formats.media_types import safe_name
from agentsvc_nb.formats.plans.charts import ChartError, ChartKind
from agentsvc_nb.formats.plans.results import CSV, Result, exported
from agentsvc_nb.tools.port import WorkFailure

FOLDER: Final = "results/"
NAME_BYTES: Final = 100
_CHART: Final = ".png"
_RESERVED: Final = re.compile(r'[<>:"/\\|?*]+')
"""Of file systems that a file may be downloaded to."""


@dataclass(frozen=True, slots=True)
class LeftFiles:
    """The paths of a table and its chart; or why there is no chart, in a sentence."""

    table: str
    chart: str | None = None
    without: str = ""


async def leave_result(turn: RunContext, result: Result, question: str, chart: ChartWish | None) -> str:
    """Leave what a question came to, unless it is a single row and no chart was asked for; Markdown that says where the
    chart is, or why there is none."""
    if chart is None and len(result.rows) <= 1:
        return ""
    title = question[:1].upper() + question[1:]
    left = await leave_table(turn, result, title, chart is not None, chart.kind if chart else None)
    return f"Chart: {code(left.chart)}\n\n" if left.chart else f"{left.without}\n\n" if left.without else ""


async def leave_table(
    turn: RunContext, result: Result, title: str, chart: bool = False, kind: ChartKind | None = None
) -> LeftFiles:
    """Write the result as a typed output `table` named after `title`, the question, and with `chart` a picture of it
    beside it. What other files have is left as it is; a run that is resumed writes the same files again."""
    files, without = exported(result, title), ""
    if chart:
        try:
            files[_CHART] = await turn.workspace.tables.chart(result, title, kind)
        except (ChartError, WorkFailure) as error:
            without = str(error)
    there = {entry.path: entry.sha256 for entry in await turn.workspace.list()}
    stem = _free(title, files, there)
    mark = hashlib.sha256(b"".join([stem.encode(), *files.values()])).hexdigest()[:16]
    for ending, data in files.items():
        type_ = "chart" if ending == _CHART else "table"
        await turn.write(stem + ending, data, output=(f"{type_}_{mark}", type_))
    return LeftFiles(stem + CSV, stem + _CHART if _CHART in files else None, without)


def _free(title: str, files: Mapping[str, bytes], there: Mapping[str, str]) -> str:
    """The path without ending: where each file is new, or is the same as the one that is there."""
    hashes = {ending: hashlib.sha256(data).hexdigest() for ending, data in files.items()}
    stem = FOLDER + _name(title)
    paths = itertools.chain([stem], (f"{stem} {number}" for number in itertools.count(2)))
    return next(
        path for path in paths if all(there.get(path + ending, sha256) == sha256 for ending, sha256 in hashes.items())
    )


def _name(title: str) -> str:
    words = " ".join(_RESERVED.sub(" ", title).split())
    name = safe_name(words).encode()[:NAME_BYTES].decode("utf-8", "ignore")
    return name.strip(" .") or "table"
