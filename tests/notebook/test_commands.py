"""The plain functions behind the magics, for scripts and other notebooks: without IPython."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from agentsvc_nb.testing import RunningService

SCRIPT = """
import sys
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.widgets.outputs import TerminalOutput
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.display.screens import TerminalScreen
from agentsvc_nb.notebook.display.screens import Bar

session = Session(journal=Journal(None))
answer = commands.ask(session, AskRequest("say hello\\nwrite out/a.txt x"), TerminalScreen(sys.stdout))
job = commands.work(session, "echo_job", {"steps": 1, "seconds": 0}, Bar(TerminalOutput(), live=False))
said = commands.call(session, "ask_stefanbrain", {"message": "say you"}, Bar(TerminalOutput(), live=False))
commands.feedback_send(session, "from a script")
counts = [len(commands.runs(session)), len(commands.files(session)), len(commands.jobs(session))]
print(answer.text, job.status, said.data["answer"], counts, len(commands.feedback(session)) > 0)
print(commands.status(session))
session.close()
assert "IPython" not in sys.modules
"""


def test_a_script_can_do_what_the_magics_do(service: RunningService, tmp_path: Path) -> None:
    env = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url, "HOME": str(tmp_path)}
    env["PYTHONPATH"] = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "hello succeeded you [1, 1, 1] True" in done.stdout
    assert service.api_key not in done.stdout
