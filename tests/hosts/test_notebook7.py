"""Jupyter Notebook 7."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.lab import TOKEN, Lab
from tests.hosts.conftest import LOAD
from tests.waiting import until

pytestmark = [pytest.mark.hosts, pytest.mark.browser]


class Notebook7(Lab):
    """Its server, and its page of one notebook."""

    def _write_settings(self) -> None:
        # JupyterLab's: this one has no such plugins, and says so with an error.
        self.homes.mkdir(parents=True, exist_ok=True)

    def _start_server(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "notebook", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
        command += [f"--ServerApp.port={self.port}", f"--IdentityProvider.token={TOKEN}"]
        command += [f"--ServerApp.root_dir={self.root}", "--JupyterNotebookApp.expose_app_in_browser=True"]
        command += ["--LabApp.news_url=None", "--LabApp.extension_manager=readonly"]
        with (self.homes / "notebook.log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self._env, cwd=self.root)
        until(lambda: self._answers() or server.poll() is not None)
        assert server.poll() is None, (self.homes / "notebook.log").read_text()
        return server

    def page_of(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/notebooks/{name}?token={TOKEN}"


def test_an_answer_grows_stop_cancels_and_one_output_stays(environ: dict[str, str], tmp_path: Path) -> None:
    (root := tmp_path / "root").mkdir()
    cells = [LOAD, "%%ask\nsay # First\nwait 1.5\nsay second part", "%%ask\nsay begun\nwait 60"]
    with Notebook7(root, environ) as host:
        notebook = host.open("plan.ipynb", cells)
        notebook.run(0)
        notebook.wait_idle()
        of_its_own = [*notebook.errors]  # 7.6 has one about a missing schema, with no extension of ours either
        notebook.run(1)
        assert "second part" not in until(lambda: notebook.output(1), lambda text: "First" in text)
        notebook.wait_idle()
        assert "✓ completed" in notebook.output(1)
        notebook.run(2)
        until(lambda: "begun" in notebook.output(2))
        notebook.stop()
        until(lambda: "RunStopped" in notebook.output(2))
        notebook.wait_idle()
        saved = notebook.save()
        assert [len(cell["outputs"]) for cell in saved["cells"]] == [0, 1, 2]
        assert notebook.errors == of_its_own
        notebook.shot(tmp_path / "notebook7.png")


def test_a_chat_is_talked_with_and_closed(environ: dict[str, str], tmp_path: Path) -> None:
    (root := tmp_path / "root").mkdir()
    with Notebook7(root, environ) as host:
        notebook = host.open("chat.ipynb", ["import agentsvc_nb\nagentsvc_nb.Chat()"])
        notebook.run(0)
        talk = notebook.page.locator(".asvc")
        for turn in (1, 2):
            talk.get_by_label("Message").fill(f"say **answer** {turn}")
            talk.get_by_role("button", name="Send").click()
            until(lambda turn=turn: notebook.output(0).count("✓ completed") == turn)  # type: ignore[misc]
        talk.get_by_role("button", name="Close").click()
        until(lambda: "closed" in notebook.output(0))
        assert "answer 2" in notebook.output(0)
        assert talk.get_by_role("button").count() == 0
