"""An error of a client of one's own is told in a cell as the magics tell theirs: what, which request, what to do."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb import APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.errors import AskError
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


def test_what_never_reached_a_service_has_no_empty_lines() -> None:
    assert APIConnectionError("Nothing answered.")._render_traceback_() == [
        "\x1b[1mAPIConnectionError\x1b[0m: Nothing answered."
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_what_a_service_says_is_harmless(text: str) -> None:
    error = StefanBrainError(text, code=text, request_id=text, hint=text)
    lines = error._render_traceback_()
    assert not FORBIDDEN.findall("".join(lines).replace("\x1b[1m", "").replace("\x1b[0m", ""))
    assert all("\n" not in line for line in lines)


def test_what_is_to_be_typed_is_bold_and_has_no_backticks() -> None:
    for error in (AskError("`%runs` is empty.", "Try `%%ask`."), StefanBrainError("`a` failed.", hint="Try `b`.")):
        shown = "\n".join(error._render_traceback_())
        assert "`" not in shown
        assert "Try \x1b[1m" in shown
