"""IPython in a terminal: text as it comes, tables as text, no HTML and no widgets."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from agentsvc_nb.testing import RunningService
from tests.support.numbers import script
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
PROMPT = r"In \[\d+\]: "


@pytest.fixture
def ipython(tmp_path: Path, service: RunningService) -> Iterator[Any]:
    """IPython on a pseudo-terminal, without colours."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    env |= {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    options = ["-m", "IPython", "--simple-prompt", "--colors=nocolor", "--no-banner", "--HistoryManager.enabled=False"]
    shell = pexpect.spawn(
        sys.executable, options, env=env, cwd=str(tmp_path), encoding="utf-8", dimensions=(50, 200), echo=False
    )
    shell.timeout = PATIENCE_SECONDS
    shell.expect(PROMPT)
    shell.sendline("%load_ext agentsvc_nb")
    shell.expect(PROMPT)
    yield shell
    shell.close(force=True)


def test_text_comes_as_it_is_written_and_tables_are_text(ipython: Any) -> None:
    for line in ("%%ask", "say first", "wait 1.5", "say second", "write out/a.txt x", "", ""):
        ipython.sendline(line)
    ipython.expect("first")
    assert "second" not in ipython.before
    ipython.expect(PROMPT)
    assert re.search(r"second.*✓ completed", ipython.before, re.DOTALL), "the end comes later, and in one piece"
    for magic, words in (("%runs", "✓ completed"), ("%files", "out/a.txt"), ("%tools", "create_images")):
        ipython.sendline(magic)
        ipython.expect(PROMPT)
        assert words in ipython.before
        assert not re.search(r"<(?:table|div|td)|IntProgress|HBox|text/html", ipython.before)


def test_the_numbers_that_were_not_found_are_named(ipython: Any) -> None:
    for line in ("%%ask", *script().split("\n"), "", ""):
        ipython.sendline(line)
    ipython.expect("11 of 12 numbers traced, 1 not found: €5.")
    ipython.expect(PROMPT)
