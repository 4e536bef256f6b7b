"""IPython in a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest

from tests.nightly.hosts.conftest import LOAD
from tests.support.waiting import PATIENCE_SECONDS, until

PROMPT = r"In \[\d+\]: "


@pytest.fixture
def ipython(environ: dict[str, str], tmp_path: Any) -> Iterator[Any]:
    arguments = ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=nocolor", "--no-confirm-exit"]
    child = pexpect.spawn(
        sys.executable, arguments, env=environ, cwd=str(tmp_path), encoding="utf-8", timeout=PATIENCE_SECONDS
    )
    child.setecho(False)
    child.expect(PROMPT)
    child.sendline(LOAD)
    child.expect(PROMPT)
    yield child
    child.close(force=True)


def type_cell(child: Any, *lines: str) -> None:
    """As one types it: two empty lines end the cell."""
    for line in (*lines, "", ""):
        child.sendline(line)


def test_text_comes_as_it_is_written_and_nothing_else(ipython: Any) -> None:
    type_cell(ipython, "%%ask -o answer", "say the first words", "wait 2", "say the last")
    ipython.expect("the first words")
    first = ipython.before
    ipython.expect("the last")
    between = ipython.before
    ipython.expect("completed")
    ipython.expect(PROMPT)
    said = first + between + ipython.before
    assert "completed" not in first + between
    assert not [noise for noise in ("HBox", "HTML(", "<IPython", "\x1b[2K") if noise in said]
    ipython.sendline("answer.text.split()[-1]")
    ipython.expect("'last'")


def asks(child: Any, code: str, *answers: str) -> None:
    """The agent asks to run code, and somebody answers."""
    type_cell(child, "%%ask --kernel", f"call run_in_kernel {json.dumps({'code': code})}", "say and on")
    child.expect_exact("[n]o (and why): ")
    for answer in answers:
        child.sendline(answer)


def test_code_runs_once_it_is_approved_and_the_shell_stays_usable(ipython: Any, tmp_path: Any) -> None:
    asks(ipython, "n = 1", "n Not now.")
    ipython.expect_exact("Refused")
    ipython.expect(PROMPT)
    asks(ipython, "n = 1", "e", "n = 7", ".")
    ipython.expect_exact("as you changed it")
    ipython.expect(PROMPT)
    asks(ipython, "import sys; sys.exit(3)", "y")
    ipython.expect_exact("and on")
    ipython.expect(PROMPT)
    ipython.sendline("n * 6")
    ipython.expect_exact("42")


def test_ctrl_c_stops_the_code_and_the_next_one_the_run(ipython: Any, tmp_path: Any) -> None:
    code = json.dumps({"code": "open('begun', 'x').close()\nwhile True: pass"})
    type_cell(ipython, "%%ask --kernel", f"call run_in_kernel {code}", "say and on", "wait 60", "say never")
    ipython.expect_exact("[n]o (and why): ")
    ipython.sendline("y")
    until((tmp_path / "begun").exists)
    ipython.sendintr()
    ipython.expect_exact("and on")
    ipython.sendintr()
    ipython.expect("RunStopped")
    ipython.expect(PROMPT)
    ipython.sendline("6 * 7")
    ipython.expect("42")
