"""IPython in a terminal: text as it comes, tables as text, no HTML and no widgets."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from agentsvc_nb.testing import RunningService
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
PROMPT = r"In \[\d+\]: "


class Terminal:
    """IPython on a pseudo-terminal, without colours."""

    def __init__(self, folder: Path, **environ: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "TERM": "dumb", **environ}
        options = [
            "-m",
            "IPython",
            "--simple-prompt",
            "--colors=nocolor",
            "--no-banner",
            "--HistoryManager.enabled=False",
        ]
        self._child = pexpect.spawn(
            sys.executable, options, env=env, cwd=str(folder), encoding="utf-8", dimensions=(50, 200), echo=False
        )
        self._child.timeout = PATIENCE_SECONDS
        self.expect(PROMPT)

    def run(self, line: str) -> str:
        """Type a line; what came until the next prompt."""
        self._child.sendline(line)
        return self.expect(PROMPT)

    def begin(self, *lines: str) -> None:
        """Type the lines of a cell magic, which two empty ones end, and do not wait for its end."""
        for line in (*lines, "", ""):
            self._child.sendline(line)

    def expect(self, pattern: str) -> str:
        self._child.expect(pattern)
        return str(self._child.before).replace("\r\n", "\n")

    def stop(self) -> None:
        self._child.sendintr()

    def close(self) -> None:
        self._child.close(force=True)


@pytest.fixture
def ipython(tmp_path: Path, service: RunningService) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, SERVICE_API_KEY=service.api_key, AGENTSVC_BASE_URL=service.base_url)
    terminal.run("%load_ext agentsvc_nb")
    yield terminal
    terminal.close()


def test_text_comes_as_it_is_written_and_tables_are_text(ipython: Terminal) -> None:
    ipython.begin("%%ask", "say first", "wait 1.5", "say second", "write out/a.txt x")
    before = ipython.expect("first")
    assert "second" not in before
    rest = ipython.expect(PROMPT)
    assert re.search(r"second.*✓ completed", rest, re.DOTALL), "the end comes later, and in one piece"
    shown = [ipython.run(magic) for magic in ("%runs", "%files", "%tools", "%agentsvc", "%jobs")]
    assert "✓ completed" in shown[0]
    assert "out/a.txt" in shown[1]
    assert "create_images" in shown[2]
    assert not re.search(r"<(?:table|div|td)|IntProgress|HBox|text/html", "".join(shown))


def test_stop_cancels_and_an_error_is_two_lines(ipython: Terminal) -> None:
    ipython.begin("%%ask", "say begun", "wait 60")
    ipython.expect("begun")
    ipython.stop()
    assert "was cancelled" in ipython.expect(PROMPT)
    said = re.sub(r"\x1b\[\d+m", "", ipython.run("%runs show nothing")).strip().splitlines()
    assert [line for line in said if line][:2] == [
        "AskError: 'nothing' is not a run id; nothing was sent.",
        "%runs lists this notebook's runs.",
    ]
