"""`agentsvc lab`: JupyterLab beside the embedded service."""

from __future__ import annotations

import signal
import subprocess
import urllib.request
from pathlib import Path

from agentsvc_nb import embedded
from agentsvc_nb.cli import lab as lab_command
from tests.service.cli.test_cli import ENV, command
from tests.support.waiting import PATIENCE_SECONDS


def test_notebooks_are_never_overwritten(tmp_path: Path) -> None:
    """What the user changed stays, what is new comes, and drafts of the checkout stay behind."""
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "data").mkdir(parents=True)
    (source / ".ipynb_checkpoints").mkdir()
    for name in ("quickstart.ipynb", "data/prices.csv", ".ipynb_checkpoints/quickstart.ipynb"):
        (source / name).write_text("ours")
    target.mkdir()
    (target / "quickstart.ipynb").write_text("theirs")
    assert lab_command.copy_notebooks(source, target) == [target / "data/prices.csv"]
    assert (target / "quickstart.ipynb").read_text() == "theirs"
    assert (target / "data/prices.csv").read_text() == "ours"
    assert not (target / ".ipynb_checkpoints").exists()
    assert lab_command.copy_notebooks(source, target) == []


def test_lab_runs_until_interrupted_and_leaves_the_service(tmp_path: Path) -> None:
    """The address is said once it can be opened, and is right; Ctrl-C ends JupyterLab and not the service."""
    data = tmp_path / "data"
    lab = subprocess.Popen(
        command("lab", "--no-browser", "--data", data, "--", "--ServerApp.quit_button=False"),
        cwd=tmp_path,
        env=ENV | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "IPYTHONDIR": str(tmp_path / "ipython")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with lab:
        try:
            assert lab.stdout is not None
            address = next(line for line in lab.stdout if line.startswith("JupyterLab: http://127.0.0.1:"))
            origin, _, token = address.split()[1].partition("/lab")
            token = token.partition("token=")[2]
            assert answers(f"{origin}/api/contents", token)
        finally:
            lab.send_signal(signal.SIGINT)
            assert lab.wait(PATIENCE_SECONDS) == 0
        last = lab.stdout.readlines()[-1]
    assert "The service is still running" in last
    assert f"agentsvc stop --data {data}" in last
    assert not answers(f"{origin}/api/contents", token)
    assert (tmp_path / lab_command.NOTEBOOK_FOLDER).is_dir()
    assert embedded.stop(data), "the service was still there"


def answers(url: str, token: str) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
