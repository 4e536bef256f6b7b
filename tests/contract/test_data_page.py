"""The code of docs/data.md does what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_runs(
    client: AgentService, service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"client": client, "api_key": service.api_key, "base_url": service.base_url}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    assert len(BLOCKS) > 8
    assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == [
        "photo.bin",
        "plan.md",
        "prices.csv",
        "text.txt",
    ]
