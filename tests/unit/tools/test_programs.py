"""What a model's program can do in its sandbox, and what is told of it. Ways out: `test_program_escapes.py`."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pandas
import pptx
import pytest
from PIL import Image

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure
from agentsvc_nb.tools.programs import confinement, running
from tests.support.waiting import until
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace
from tests.unit.tools.test_program_escapes import living

needs_sandbox = pytest.mark.skipif(
    bool(confinement.missing_requirement()), reason=str(confinement.missing_requirement())
)
SALES = "month,channel,revenue\n2024-01,search,100\n2024-02,search,150\n2024-01,social,70\n"


@pytest.fixture(scope="module")
def tool() -> Tool:
    return catalog.add_workspace_tools({}, Settings(Path("data")))["run_python"]


@pytest.fixture
def task(tmp_path: Path) -> MemoryToolContext:
    return MemoryToolContext(MemoryWorkspace(tmp_path / "chat", {"uploads/Sales 2024.csv": SALES, "notes.txt": "old"}))


def run(tool: Tool, task: MemoryToolContext, code: str, **given: Any) -> Outcome:
    return runs(tool, task, code, **given)[0]


def runs(
    tool: Tool, task: MemoryToolContext, *codes: str, between: Callable[[], object] = lambda: None, **given: Any
) -> list[Outcome]:
    """The outcomes of programs of one attempt, one after the other; `between` is called before the last."""

    async def run_all() -> list[Outcome]:
        found = []
        try:
            for number, code in enumerate(codes, 1):
                if number > 1 and number == len(codes):
                    await asyncio.to_thread(between)
                found.append(await tool.run(tool.Input.model_validate({"code": code, **given}), task))
        finally:
            await task.close()
        return found

    return asyncio.run(run_all())


def text(outcome: Outcome) -> str:
    return str(outcome.content[0]["text"])


@needs_sandbox
def test_a_table_is_read_drawn_and_written_as_office_files(tool: Tool, task: MemoryToolContext) -> None:
    outcome = run(
        tool,
        task,
        "import os\nimport pandas as pd\nimport matplotlib.pyplot as plt\n"
        "sales = pd.read_csv('uploads/Sales 2024.csv')\nby = sales.groupby('channel').revenue.sum()\n"
        "by.plot.bar()\nos.mkdir('charts')\nplt.savefig('charts/revenue.png')\nprint(by.to_dict())\n"
        "import docx, pptx\nsales.to_excel('sales.xlsx', index=False)\n"
        "document = docx.Document(); document.add_heading('Sales'); document.save('sales.docx')\n"
        "deck = pptx.Presentation(); deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = 'Sales'\n"
        "deck.save('sales.pptx')\nopen('.hidden', 'w').write(open('notes.txt').read());",
    )
    assert outcome.error is None
    head, _, written = text(outcome).partition("\n\n")
    assert head == "{'search': 250, 'social': 70}"
    names = written.removeprefix("Files written: ").removesuffix(".").split(", ")
    assert sorted(names) == ["charts/revenue.png", "sales.docx", "sales.pptx", "sales.xlsx"], "not what it only read"
    assert outcome.content[1] == {"type": "image", "path": "charts/revenue.png", "media_type": "image/png"}
    assert Image.open(io.BytesIO(task.files.bytes("charts/revenue.png"))).size == (640, 480)
    assert task.files.outputs["charts/revenue.png"] is not None
    office = {name: io.BytesIO(task.files.bytes(name)) for name in ("sales.xlsx", "sales.docx", "sales.pptx")}
    assert openpyxl.load_workbook(office["sales.xlsx"]).active["C2"].value == 100
    assert docx.Document(office["sales.docx"]).paragraphs[0].text == "Sales"
    assert pptx.Presentation(office["sales.pptx"]).slides[0].shapes.title.text == "Sales"


@needs_sandbox
def test_a_program_that_fails_tells_where_and_keeps_its_files(tool: Tool, task: MemoryToolContext) -> None:
    outcome = run(tool, task, "import pandas as pd\nopen('a.txt', 'w').write('x')\npd.read_csv('none.csv')")
    assert outcome.error is not None
    code, message = outcome.error
    assert code == "program_failed"
    assert "exit code 1." in message
    assert "Files written: a.txt." in message
    assert 'File "program.py", line 3, in <module>\n    pd.read_csv' in message
    assert message.endswith("No such file or directory: 'none.csv'")
    assert str(Path(pandas.__file__).parents[1]) not in message


@needs_sandbox
def test_variables_imports_and_changed_files_are_there_for_the_next_program(
    tool: Tool, task: MemoryToolContext
) -> None:
    def change() -> None:
        task.files.put("notes.txt", b"new")
        del task.files.outputs["uploads/Sales 2024.csv"]

    outcomes = runs(
        tool,
        task,
        "import pandas as pd\nsales = pd.read_csv('uploads/Sales 2024.csv')\nopen('kept.txt', 'w').write('1')",
        "sales['tax'] = 1 / 0",
        "sales = sales.assign(**{f'column {n}': n for n in range(40)})\nexit(3)",
        "import os\nopen('kept.txt', 'w').write('1')\nos.mkdir('made')\nos.unlink('notes.txt')\n"
        "os.mkfifo('notes.txt')\nopen('made/b.txt', 'w').write('2');",
        "print(open('notes.txt').read(), os.path.exists('uploads/Sales 2024.csv'))\nsales",
        between=change,
    )
    first, failed, left, same, last = map(text, outcomes)
    assert first == "1\n\nFiles written: kept.txt."
    assert [outcome.error and outcome.error[0] for outcome in outcomes] == [None, *["program_failed"] * 2, None, None]
    assert 'File "program2.py", line 1, in <module>\n    sales[' in failed
    assert "exit code 3." in left
    assert same == "Files written: made/b.txt.", "what has the same content is not handed out again"
    assert last.startswith("new False\n")
    assert "column 39" in last
    assert "100" in last
    assert "..." not in last


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import time\ntime.sleep(60)", "the last program was stopped at a limit"),
        ("import ctypes\nctypes.string_at(0)", "the last program ended its process"),
        ("import os, time\nif os.fork() == 0: time.sleep(600)", "or left others behind"),
    ],
)
def test_the_next_program_is_told_why_variables_are_gone(
    tool: Tool, task: MemoryToolContext, code: str, why: str
) -> None:
    *_, after, again = runs(tool, task, "x = 1", code, "'x' in globals()", "'x' in globals()", seconds=2)
    assert text(after).startswith("False\n\nThe variables")
    assert why in text(after)
    assert text(again) == "False"


@needs_sandbox
def test_variables_are_gone_in_another_attempt_at_the_run(tool: Tool, task: MemoryToolContext) -> None:
    task.was_called = True
    (outcome,) = runs(tool, task, "print('on')")
    assert text(outcome).endswith(f"are gone: {running.NEW_ATTEMPT}.")


@needs_sandbox
def test_the_sandbox_of_an_idle_run_ends(tool: Tool, task: MemoryToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "IDLE_SECONDS", 0.0)
    before = living()
    *_, after = runs(tool, task, "x = 1", "'x' in globals()", between=lambda: until(lambda: living() <= before))
    assert "no program used them for" in text(after)
    assert text(after).startswith("False")


@needs_sandbox
def test_the_run_that_waited_longest_loses_its_variables_to_others(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "IDLE_MAX", 1)

    async def take_turns() -> list[Outcome]:
        tasks = [MemoryToolContext(MemoryWorkspace(tmp_path / name)) for name in "ab"]
        given = tool.Input.model_validate({"code": "x = 1 + globals().get('x', 0)\nx"})
        found = [await tool.run(given, tasks[number]) for number in (0, 1, 1, 0)]
        for task in tasks:
            await task.close()
        return found

    *others, last = map(text, asyncio.run(take_turns()))
    assert others == ["1", "1", "2"]
    assert last.startswith("1\n\nThe variables")
    assert "needed the memory" in last


def test_a_machine_without_a_sandbox_says_so(
    tool: Tool, task: MemoryToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert confinement.missing_requirement() == confinement.NO_BUBBLEWRAP
    assert not tool.available()
    assert "run_python" in catalog.taken_names(catalog.add_workspace_tools({}, Settings(Path("data")))), (
        "its name stays taken"
    )
    with pytest.raises(WorkFailure, match="apt install bubblewrap") as failed:
        run(tool, task, "print(1)")
    assert failed.value.code == "not_configured"
