"""The code of docs/data.md does what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service

PAGE = Path(__file__).parents[3] / "docs" / "data.md"
BLOCKS = re.findall(r"^```py(?:thon)?\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


SALES = b"date,revenue\n2026-01-03,10.5\n2026-01-20,4\n2026-02-02,7\n"


@pytest.fixture
def offline() -> Iterator[AgentService]:
    with (
        running_service("offline") as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        yield client


def test_the_page_runs(
    client: AgentService,
    offline: AgentService,
    service: RunningService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    [sales] = offline.files.upload(("sales.csv", SALES))
    chat_of_sales = offline.ask("Which files are here?", file_ids=[sales], chat="new").chat
    names: dict[str, Any] = {"client": client, "api_key": service.api_key, "base_url": service.base_url}
    names |= {"offline": offline, "chat_of_sales": chat_of_sales}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    assert len(BLOCKS) >= 8
    assert "Revenue by month? {} results/Revenue by month.csv" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == [
        "photo.bin",
        "plan.md",
        "prices.csv",
        "text.txt",
    ]
