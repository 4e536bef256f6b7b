"""The Python of README.md, docs/notebook.md and docs/hosts.md does what the pages say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.notebook.widgets.chat.chat import Chat
from agentsvc_nb.testing import RunningService
from tests.notebook.images import png

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str = "python") -> list[str]:
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [dedent(block) for its, block in found if its == language]


def run(block: str, page: str, **names: Any) -> None:
    exec(compile(block, page, "exec", dont_inherit=True), names)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What somebody who cloned the repository has: its notebooks, no key, and no service yet."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))
    yield tmp_path
    embedded.stop(tmp_path / "data")


def test_the_readme(
    kernel: Any,
    clone: Path,
    offline_service: RunningService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells, script, clients = blocks("README.md")
    run(script, "README.md")
    assert "Weekend hikers" in capsys.readouterr().out
    monkeypatch.chdir(clone / "notebooks")
    kernel.cell(cells)
    (question,) = [block for block in blocks("README.md", "") if block.startswith("%%ask -o answer")]
    kernel.cell(question)
    answer = kernel.user_ns["answer"].text
    assert "Trail Shell Jacket" in answer
    assert "Weekend hikers" in answer
    stood = clients.replace("svc_sk_...", offline_service.api_key)
    run(stood.replace("http://127.0.0.1:8787", offline_service.base_url), "README.md")
    assert capsys.readouterr().out.count("file") >= 2


@pytest.mark.usefixtures("connected")
def test_the_chat_of_the_page_of_notebooks(kernel: Any) -> None:
    (block,) = blocks("docs/notebook.md")
    assert isinstance(kernel.cell(block), Chat)


@pytest.mark.usefixtures("connected")
def test_a_program_that_has_ended_leaves_no_connection_open(client: AgentService) -> None:
    chat = client.runs.start("write a.txt x", sync=True).chat
    program = f"import agentsvc_nb\nprint(agentsvc_nb.Files({chat!r}).df.path[0])"
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-W", "default::ResourceWarning", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == "a.txt\n"
    assert "ResourceWarning" not in ended.stderr


@pytest.mark.usefixtures("connected")
def test_the_previews_of_the_page_of_hosts(client: AgentService) -> None:
    answer = client.ask("write out/plan.md # The plan\nsay done")
    client.files.upload(("dot.png", png()), chat=answer.chat)
    files_and_gallery, preview = blocks("docs/hosts.md")
    run(files_and_gallery, "docs/hosts.md", answer=answer)
    run(preview, "docs/hosts.md", answer=answer)
