"""The examples of docs/client.md work, in order, against a real service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentsvc_nb.client import api
from agentsvc_nb.client.api import AgentService

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()


def test_the_examples_run(
    client: AgentService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"client": client}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for block in blocks:
        exec(compile(block, "docs/client.md", "exec"), names)
    printed = capsys.readouterr().out
    assert len(blocks) >= 9
    for expected in ("hello\nworld", "notes/plan.md", "chat_not_found 404", "chat_busy", "$SERVICE_API_KEY"):
        assert expected in printed
    assert len(list((tmp_path / "pictures").iterdir())) == 1


def test_each_operation_is_shown() -> None:
    for group in api.OperationGroup.__subclasses__():
        shown = {name for name in vars(group) if not name.startswith("_")}
        missing = {name for name in shown if f"{group.__name__.lower()}.{name}" not in PAGE}
        assert missing <= {"rename", "get"}, group.__name__
