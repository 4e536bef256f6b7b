"""What a computed answer leaves: a table named after its question, and a chart beside it (docs/api/files.md)."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.languages.charts import ChartWish, without_chart
from agentsvc_nb.agents.offline.tables.answers import LeftFiles, leave_table
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.client.downloads import read_table
from agentsvc_nb.documents.plans.results import Result, ResultColumn
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace
from tests.service.test_run_basis import finished

COLUMNS = (ResultColumn("month", "date", by="month", label=True), ResultColumn("sum(revenue)", "number", "€", 2))
ROWS = tuple((date(2025, month, 1), Decimal(month)) for month in range(1, 5))
RESULT = Result(COLUMNS, ROWS, 4, 4)
OTHER = Result(COLUMNS, ROWS[:2], 2, 2)
SINGLE = Result(COLUMNS[1:], ((Decimal(10),),), 4, 4)


def left(folder: Path, title: str, *results: Result, chart: bool = False) -> tuple[list[LeftFiles], MemoryWorkspace]:
    turn = MemoryRunContext(title, MemoryWorkspace(folder / "chat"))

    async def work() -> list[LeftFiles]:
        return [await leave_table(turn, result, title, chart) for result in results]

    return asyncio.run(work()), turn.files


def test_a_table_is_named_after_its_question(tmp_path: Path) -> None:
    found, files = left(tmp_path, "Umsätze nach Monat?", RESULT)
    assert found == [LeftFiles("results/Umsätze nach Monat.csv")]
    assert sorted(files.outputs) == ["results/Umsätze nach Monat.csv", "results/Umsätze nach Monat.schema.json"]
    assert len({files.outputs[path] for path in files.outputs}) == 1
    frame = read_table(*(files.bytes(path) for path in sorted(files.outputs)))
    assert frame["sum(revenue)"].tolist() == [1, 2, 3, 4]


def test_a_chart_stands_beside_its_table(tmp_path: Path) -> None:
    [found], files = left(tmp_path, "Revenue by month", RESULT, chart=True)
    assert found.chart == "results/Revenue by month.png"
    assert files.outputs[found.chart] is not None
    assert [output[1] for output in files.outputs.values() if output] == ["table", "table", "chart"]
    assert Image.open(io.BytesIO(files.bytes(found.chart))).format == "PNG"


def test_what_has_no_chart_is_left_as_a_table_and_says_why(tmp_path: Path) -> None:
    [found], files = left(tmp_path, "Total revenue", SINGLE, chart=True)
    assert (found.chart, found.without[-1]) == (None, ".")
    assert found.table in files.outputs


def test_another_result_has_another_name_and_the_same_one_the_same(tmp_path: Path) -> None:
    found, _ = left(tmp_path, "Revenue", RESULT, OTHER, RESULT, OTHER)
    assert [one.table for one in found] == [
        "results/Revenue.csv", "results/Revenue 2.csv", "results/Revenue.csv", "results/Revenue 2.csv"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "title",
    ["", "?", "../../etc/passwd", "...", "a/b\\c:d", "\x00\u202e", "日" * 300, "tmp", ".hidden", "x\ny", "\ud800"],
)
def test_any_question_gives_a_path_of_the_workspace(title: str, tmp_path: Path) -> None:
    [found], files = left(tmp_path, title, RESULT)
    folder, name = found.table.split("/")
    assert folder == "results"
    assert not name.startswith(".")
    assert len(name.encode()) < 120
    assert files.bytes(found.table).startswith(b"month,")


def test_no_question_is_answered_from_what_was_computed(tmp_path: Path) -> None:
    [found], files = left(tmp_path, "Revenue", RESULT)
    files.put("sales.csv", b"month,revenue\n2025-01-01,1\n")
    assert [one.path for one in asyncio.run(files.tables.profiles())] == ["sales.csv"]
    assert [one.path for one in asyncio.run(files.tables.profiles([found.table]))] == [found.table]


async def leaves(turn: RunContext) -> None:
    await leave_table(turn, RESULT, "Revenue by month", chart=True)


async def leaves_and_rewinds(turn: RunContext) -> None:
    await leaves(turn)
    await turn.rewind()
    await leaves(turn)


@pytest.mark.parametrize("script", [leaves, leaves_and_rewinds])
def test_the_service_tells_each_file_with_its_output(script: Any, tmp_path: Path) -> None:
    record, events = asyncio.run(finished(tmp_path, script))
    assert record.status == "completed", record.last_error_message
    written = [json.loads(event.payload) for event in events if event.type == "file.written"]
    assert {one["path"]: one["output"]["type"] for one in written} == {
        "results/Revenue by month.csv": "table",
        "results/Revenue by month.schema.json": "table",
        "results/Revenue by month.png": "chart",
    }
    assert {one["media_type"] for one in written} == {"text/csv", "application/json", "image/png"}


@pytest.mark.parametrize(
    ("question", "rest", "wish"),
    [
        ("Plot revenue by month", "revenue by month", ChartWish()),
        ("Please plot revenue by month.", "revenue by month.", ChartWish()),
        ("Revenue by month as a chart?", "Revenue by month?", ChartWish()),
        ("Revenue by channel as a bar chart", "Revenue by channel", ChartWish("bar")),
        ("Show me a line graph of revenue by month", "revenue by month", ChartWish("line")),
        ("Umsatz nach Monat als Diagramm", "Umsatz nach Monat", ChartWish()),
        ("Umsatz nach Kanal als Balkendiagramm?", "Umsatz nach Kanal?", ChartWish("bar")),
        ("Le chiffre d'affaires par mois en graphique", "Le chiffre d'affaires par mois", ChartWish()),
        ("Ingresos por mes como gráfico de barras", "Ingresos por mes", ChartWish("bar")),
        ("What was the peak chart position of Thriller?", None, None),
        ("Chart position of Thriller", None, None),
        ("Which plot is the largest?", None, None),
        ("How many songs were in a chart in 1990?", None, None),
        ("Chart by year", None, None),
        ("Show revenue by channel in a bar chart", "Show revenue by channel", ChartWish("bar")),
        ("Stelle Umsatz nach Monat als Linienchart dar", "Stelle Umsatz nach Monat", ChartWish("line")),
        ("Who drew the graph?", None, None),
        ("as a chart", None, None),
        ("Revenue by month", None, None),
    ],
)
def test_the_words_that_ask_for_a_chart(question: str, rest: str | None, wish: ChartWish | None) -> None:
    assert without_chart(question) == (question if rest is None else rest, wish)


SALES = b"month,channel,revenue\n2025-01-05,Email,10.50\n2025-02-05,Search,20.00\n2025-03-05,Email,30.00\n"


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("What is the total revenue?", []),
        ("Channel with the highest revenue", []),
        ("total revenue by channel?", [".csv", ".schema.json"]),
        ("Plot total revenue by channel", [".csv", ".png", ".schema.json"]),
        ("total revenue by channel as a bar chart", [".csv", ".png", ".schema.json"]),
    ],
)
def test_the_offline_agent_leaves_what_it_computed(question: str, written: list[str], tmp_path: Path) -> None:
    turn = MemoryRunContext(question, MemoryWorkspace(tmp_path / "chat", {"sales.csv": SALES}))
    asyncio.run(choose("offline").run(turn))
    [basis] = turn.of("basis")
    assert basis.basis == "computed", turn.said
    assert sorted(turn.of("write")) == [f"results/Total revenue by channel{ending}" for ending in written]
    assert ("Chart: `results/" in turn.said) == (".png" in written)


def test_the_same_question_twice_has_the_same_answer(tmp_path: Path) -> None:
    files = MemoryWorkspace(tmp_path / "chat", {"sales.csv": SALES})
    said = []
    for _ in range(2):
        turn = MemoryRunContext("total revenue by channel", files)
        asyncio.run(choose("offline").run(turn))
        said.append((turn.said, turn.of("write")))
    assert said[0] == said[1]


def test_what_has_no_chart_says_so(tmp_path: Path) -> None:
    turn = MemoryRunContext("total revenue as a chart", MemoryWorkspace(tmp_path / "chat", {"sales.csv": SALES}))
    asyncio.run(choose("offline").run(turn))
    assert "A chart compares groups, periods or two columns of numbers" in turn.said
