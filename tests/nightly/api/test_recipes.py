"""The programs of docs/recipes.md print what the page says, each a process of its own, against a real service."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService

PAGE: Final = (Path(__file__).parents[3] / "docs" / "recipes.md").read_text()
PROGRAMS: Final = re.findall(
    r"^## \d+\. (.*?)$.*?^```python\n(.*?)^```.*?^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
)


def arguments(title: str, client: AgentService) -> list[str]:
    """What programs are called with: the ids of what another one has made."""
    if title.startswith("A run of another process"):
        run = client.runs.wait(client.runs.start("say Autumn.\nsay Winter."))
        seen = next(event for event in client.runs.iterate_events(run) if event.type == "text.delta")
        return [run.run_id, str(seen.id)]
    if title.startswith("A thousand items"):
        script = "\n".join(f"write pages/{number:04}.md text" for number in range(1000))
        return [client.runs.wait(client.runs.start(script)).chat]
    return []


def test_each_program_of_the_page_is_run() -> None:
    assert len(PROGRAMS) == PAGE.count("```python\n") == 10


@pytest.mark.parametrize(("title", "program", "printed"), PROGRAMS, ids=[title for title, _, _ in PROGRAMS])
def test_a_program_prints_what_the_page_says(
    client: AgentService, service: RunningService, tmp_path: Path, title: str, program: str, printed: str
) -> None:
    (tmp_path / "prices.csv").write_text("product,price\nlamp,12.50\n")
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "program.py", *arguments(title, client)]
    environment = {**os.environ, "SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = ""
        for line in process.stdout:
            found += line.strip() and line  # a piece of text may be a line's end alone
            if title == "Ctrl-C cancels" and "while." in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    lines = ("(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in printed.splitlines())
    assert re.fullmatch("".join(lines), found.rstrip("\n") + "\n"), found
