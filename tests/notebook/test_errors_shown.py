"""An error of a client of one's own is told in a cell as the magics tell theirs: what, which request, what to do."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb import StefanBrainError
from agentsvc_nb.testing import RunningService
from tests.notebook.allowlist import FORBIDDEN
from tests.notebook.test_hostile import HOSTILE


def test_it_is_three_lines_with_the_request_and_the_line_of_the_cell(
    terminal: Any, service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.user_ns["key"], terminal.user_ns["url"] = service.api_key, service.base_url
    terminal.cell("from agentsvc_nb import AgentService\nclient = AgentService(key, url)")
    capsys.readouterr()
    with pytest.raises(StefanBrainError) as caught:
        terminal.cell("def look():\n    return client.tools.describe('nothing')\n\nlook()")
    shown = capsys.readouterr().out.strip().splitlines()
    assert len(shown) <= 3
    assert "StefanBrainError" in shown[0]
    assert "There is no tool 'nothing'" in shown[0]
    assert "tool_not_found" in shown[1]
    assert f"request {caught.value.request_id}" in shown[1]
    assert shown[1].endswith("line 2 of the cell")
    terminal.cell("client.close()")


@pytest.mark.parametrize("text", HOSTILE[::5], ids=lambda text: ascii(text)[:40])
def test_what_a_service_says_is_harmless(terminal: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.user_ns["error"] = StefanBrainError(text, code=text, request_id=text, hint=text)
    with pytest.raises(StefanBrainError):
        terminal.cell("raise error")
    shown = capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert not FORBIDDEN.findall(shown)
    assert len(shown.strip().splitlines()) <= 4
