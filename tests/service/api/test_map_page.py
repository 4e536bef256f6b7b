"""The code of docs/map.md does what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService

PAGE = Path(__file__).parents[3] / "docs" / "map.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_runs(
    client: AgentService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"client": client}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    assert len(BLOCKS) == 6
    assert len((tmp_path / "labels.jsonl").read_text().split()) > 5
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("about 0.")
