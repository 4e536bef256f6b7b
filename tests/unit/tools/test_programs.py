"""What a model's program can do in its sandbox, and what is told of it. Ways out: `test_program_escapes.py`."""

from __future__ import annotations

import asyncio
import io
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
from agentsvc_nb.tools.programs import confinement
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace

needs_sandbox = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
SALES = "month,channel,revenue\n2024-01,search,100\n2024-02,search,150\n2024-01,social,70\n"


@pytest.fixture(scope="module")
def tool() -> Tool:
    return catalog.within({}, Settings(Path("data")))["run_python"]


@pytest.fixture
def task(tmp_path: Path) -> MemoryToolContext:
    return MemoryToolContext(MemoryWorkspace(tmp_path / "chat", {"uploads/Sales 2024.csv": SALES, "notes.txt": "old"}))


def run(tool: Tool, task: MemoryToolContext, code: str, **given: Any) -> Outcome:
    return asyncio.run(tool.run(tool.Input.model_validate({"code": code, **given}), task))


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
        "deck.save('sales.pptx')\nopen('.hidden', 'w').write(open('notes.txt').read())",
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


def test_a_machine_without_a_sandbox_says_so(
    tool: Tool, task: MemoryToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert confinement.lacking() == confinement.NO_BUBBLEWRAP
    assert not tool.available()
    assert "run_python" in catalog.taken_names(catalog.within({}, Settings(Path("data")))), "its name stays taken"
    with pytest.raises(WorkFailure, match="apt install bubblewrap") as failed:
        run(tool, task, "print(1)")
    assert failed.value.code == "not_configured"
