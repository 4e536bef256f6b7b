"""Each code block of the README and of the pages in docs/ runs as it is shown, in order, in a folder with the files
that the pages name: `ipython` as a cell, `python` as a program, `sh` in bash with `agentsvc` on its path.

A block that cannot run here has the reason in a comment above it: `<!-- not run: needs a key of a provider -->`.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.cli.examples import EXAMPLES
from agentsvc_nb.testing import RunningService

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not page.read_text().startswith("<!-- Generated")),
]
RUN: Final = ("ipython", "python", "sh")
TEXTS: Final = ("text", "json", "yaml", "nginx")
"""Languages of blocks that nobody runs."""
TESTED_ELSEWHERE: Final = {
    "client.md": ("test_doc_blocks.py", ("python", "sh")),
    "integrations.md": ("test_integrations.py", ("python",)),
    "recipes.md": ("test_recipes.py", ("python",)),
    "retries.md": ("test_doc_blocks.py", ("python",)),
}
"""Which test runs all the blocks of a page in these languages, with what the page speaks of."""
NOT_RUN: Final = re.compile(r"<!-- not run: (\S.*?) -->")
SECONDS: Final = 120
WORDS: Final = '{"language": "en", "segments": [{"start_s": 0.0, "end_s": 1.0, "text": "Hello."}]}'

RECORDED: Final = """\
ask Three campaigns for autumn, with a budget each.
answer {"records": [{"name": "Harvest", "budget_eur": 900, "channels": ["mail"]}]}

ask average units_sold by category
call query_tables {"sql": "SELECT category, avg(units_sold) AS units FROM products GROUP BY 1", "save_as": "units.csv"}
Here they are.

ask Which of my customers in df bought twice this year? Make a table `twice` of them.
Ada did.

ask Which three regions sold most in the last quarter?
North, West and South.

ask Classify this comment: The boots came a week late.
answer {"topic": "delivery", "urgent": true}

ask Classify this comment: Too expensive for a fleece.
answer {"topic": "price"}
"""
REPLAYED: Final = ("kernel.md", "rows.md", "tables.md")
"""Pages whose questions the recorded conversation answers."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, at a line of it."""

    language: str
    code: str
    line: int
    not_run: str = ""


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    before: Token | None = None
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type == "fence" and not token.info.startswith("{"):
            reason = NOT_RUN.fullmatch(before.content.strip()) if before and before.type == "html_block" else None
            line = token.map[0] + 1 if token.map else 0
            found.append(Block(token.info.strip(), token.content, line, reason[1] if reason else ""))
        before = token
    return found


def of(page: Path) -> list[Block]:
    """The blocks that run here."""
    _, elsewhere = TESTED_ELSEWHERE.get(page.name, ("", ()))
    return [one for one in blocks(page) if one.language in RUN and not one.not_run and one.language not in elsewhere]


def test_each_block_is_run_or_says_why_not() -> None:
    for page in PAGES:
        found = blocks(page)
        for block in found:
            where = f"{page.relative_to(ROOT)}:{block.line}"
            assert block.language in (*RUN, *TEXTS), f"{where}: name the language of the block"
            assert block.language in RUN or not block.not_run, f"{where}: nobody runs {block.language}"
        comments = len(re.findall(r"^ *<!-- not run", page.read_text(), re.MULTILINE))
        assert comments == sum(bool(one.not_run) for one in found), f"{page}: a comment belongs right above its block"
    for name, (test, _) in TESTED_ELSEWHERE.items():
        (place,) = (ROOT / "tests").rglob(test)
        assert name in place.read_text()


class Runner:
    """Runs the blocks of a page, which see what those before have made."""

    def __init__(self, shell: Any, folder: Path, service: RunningService) -> None:
        self._shell = shell
        self._folder = folder
        self._service = service
        self._variables = folder / ".variables"

    def run(self, block: Block) -> str:
        """Return what a program or shell prints."""
        if block.language == "ipython":
            self._shell.cell(block.code)
            return ""
        return self._program(block.code) if block.language == "python" else self._bash(block.code)

    def _program(self, code: str) -> str:
        """As a program of its own, whose environment names a service."""
        named = {"AGENTSVC_BASE_URL": self._service.base_url, "SERVICE_API_KEY": self._service.api_key}
        return self._ended([sys.executable, "-c", code], named if "AGENTSVC_BASE_URL" not in os.environ else {})

    def _bash(self, code: str) -> str:
        before = f". {shlex.quote(str(self._variables))}\n" if self._variables.exists() else ""
        return self._ended(["bash", "-euc", f"{before}{code}\nexport -p > {shlex.quote(str(self._variables))}"], {})

    def _ended(self, command: list[str], env: dict[str, str]) -> str:
        program = subprocess.Popen(
            command,
            env=os.environ | env,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = program.communicate(timeout=SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        assert program.returncode == 0, said
        return said


@pytest.fixture
def runner(
    terminal: Any, tmp_path: Path, offline_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runner]:
    """In a copy of what somebody who cloned the repository has; no service is there yet."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    for name in ("brief.md", "products.csv"):
        shutil.copy(ROOT / "notebooks" / name, tmp_path)
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    for name in ("AGENTSVC_BASE_URL", "SERVICE_API_KEY"):  # set, so that what a replay leaves is taken back
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield Runner(terminal, tmp_path, offline_service)
    embedded.stop(tmp_path / "data")


@pytest.mark.parametrize("page", [page for page in PAGES if of(page)], ids=lambda page: page.name)
def test_the_blocks_run_as_they_are_shown(page: Path, runner: Runner, terminal: Any, tmp_path: Path) -> None:
    if page.name in REPLAYED:
        (tmp_path / "recorded.txt").write_text(RECORDED)
        terminal.cell("from agentsvc_nb.testing import replay_conversation\nreplay_conversation('recorded.txt')")
    for block in of(page):
        print(f"--- {page.name}:{block.line}", flush=True)
        print(said := runner.run(block))
        if "start_and_stream" in block.code:
            assert said[: len(said) // 2] == said[len(said) // 2 :], "the stream is the answer, and nothing else"
    if page.name == "README.md":
        answer = terminal.user_ns["answer"].text
        assert all(word in answer for word in ("Trail Shell Jacket", "Weekend hikers"))


def test_the_cheap_examples_in_the_help_of_commands_run(runner: Runner) -> None:
    """All of them parse (`test_cli_help.py`). Here those run that need a service, a file and a chat."""
    ask, *_, again = EXAMPLES["agentsvc ask"]
    show = Block("sh", "agentsvc runs show last --json", 0)
    assert "hikers" in runner.run(Block("sh", ask, 0))
    first = json.loads(runner.run(show))
    runner.run(Block("sh", again.replace("chat_1", first["chat"]), 0))
    last = json.loads(runner.run(show))
    assert (last["chat"], last["model"], last["status"]) == (first["chat"], "offline", "completed")
    printed = {
        "keys": "embedded",
        "account show": "wallet_cents",
        "runs list": last["run_id"],
        "runs attach": last["output"],
        "tools show": "create_images",
        "jobs list": "no job",
        "status": "model:  offline",
        "stop": "Stopped",
    }
    for name, words in printed.items():
        assert words in runner.run(Block("sh", EXAMPLES[f"agentsvc {name}"][0], 0)), name


PRINTED: Final = {
    "client.md": (
        "\nhello\nworld\nhello\nworld\nhello\nworld\n",
        "\none two three\n",
        "\nstocked 10\n",
        "\nnotes/plan.md 6 6\n",
        "\nb'name,price\\na,1\\n'\n",
        "\nopen 1\n",
        "\n['Autumn']\n",
    ),
    "retries.md": (
        "\nchat_not_found 404 Check the chat ID and the key.\n",
        "\nTrue Sales are stable.\n",
        "\nchat_busy ",
        "\n[3, 4,",
    ),
}
"""Some of what the blocks of a page print."""


@pytest.fixture
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A data folder for `local()`, whose service stops after the test."""
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))
    yield
    embedded.stop(tmp_path / "data")


@pytest.mark.usefixtures("own_data")
@pytest.mark.parametrize("name", PRINTED)
def test_the_blocks_of_a_client_run(
    name: str,
    client: AgentService,
    service: RunningService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, with a client and what the page speaks of without making it."""
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    names: dict[str, Any] = {"client": client, "api_key": service.api_key, "base_url": service.base_url}
    if name == "client.md":
        names |= _of_client_page(service, tmp_path)
    for block in blocks(ROOT / "docs" / name):
        print(f"--- {name}:{block.line}", flush=True)
        if block.language == "sh" and name == "client.md":
            subprocess.run(["sh", "-c", block.code], check=True)
        if block.language != "python" or block.not_run:
            continue
        code = compile(block.code, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        if inspect.iscoroutine(awaited := eval(code, names)):
            asyncio.run(awaited)
    printed = capsys.readouterr().out
    assert [lines for lines in PRINTED[name] if lines not in printed] == [], printed


def _of_client_page(service: RunningService, folder: Path) -> dict[str, object]:
    def agentsvc(*arguments: object) -> str:
        command = [sys.executable, "-m", "agentsvc_nb", *map(str, arguments), "--data", str(service.data)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with wave.open(str(folder / "told.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(16_000))
    (folder / "words.json").write_text(WORDS)
    media_id = agentsvc("media", "add", folder / "told.wav", "--transcript", folder / "words.json")
    return {"media_id": media_id, "page_id": agentsvc("pages", "add", "https://example.com/page")}
