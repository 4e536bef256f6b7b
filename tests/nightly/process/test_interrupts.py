"""Ctrl-C in a terminal, where it must end a service or a question in good order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pexpect
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.cli.test_cli import ENV, command
from tests.support.waiting import PATIENCE_SECONDS, until

READING: Final = re.compile(r"(0|63) 0x0 ")  # `read` of x86-64 or ARM64, from standard input


def typed(*words: object) -> pexpect.spawn[str]:
    """A command in a terminal, for Ctrl-C."""
    program, *rest = command(*words)
    return pexpect.spawn(program, rest, env=ENV, encoding="utf-8", timeout=PATIENCE_SECONDS)


@pytest.mark.skipif(not Path("/proc/self/syscall").exists(), reason="Linux says what a process waits for")
def test_ctrl_c_while_a_question_is_typed_asks_nothing(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        before = client.runs.list().first()
        typing = typed("ask", "-", "--data", service.data)
        until(lambda: READING.match(Path(f"/proc/{typing.pid}/syscall").read_text()))
        typing.sendline("say hello")
        typing.sendintr()
        typing.expect(pexpect.EOF)
        assert "Traceback" not in str(typing.before)
        assert typing.wait() == 130
        assert client.runs.list().first() == before


def test_ctrl_c_ends_a_service_in_good_order(tmp_path: Path) -> None:
    serving = typed("serve", "--port", "0", "--data", tmp_path / "data")
    serving.expect("sign-in|http://127.0.0.1")
    until((tmp_path / "data" / "ready.json").exists)
    serving.sendintr()
    serving.expect(pexpect.EOF)
    assert (serving.wait(), "Traceback" in str(serving.before)) == (0, False)
