"""What starts and kills many processes: services that end, move, or are lost."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.service.cli.test_cli import ENV, command
from tests.support.losing import lose_for_good
from tests.support.waiting import PATIENCE_SECONDS


def test_a_service_that_is_lost_for_good_leaves_the_text_and_the_way_on(tmp_path: Path) -> None:
    """What was printed stays, and the last lines say what happened and how the run is followed later."""
    data = tmp_path / "data"
    asking = subprocess.Popen(
        command("ask", "say started\nwait 600", "--data", data),
        env=ENV | {"AGENTSVC_MODEL": "scripted"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "started\n"
        lose_for_good(data)
        _, errors = asking.communicate(timeout=PATIENCE_SECONDS)
    assert asking.returncode == 1
    assert "The service went away before the run ended" in errors
    assert re.search(r"agentsvc runs attach [0-9a-f-]{36}\n", errors)
    assert "not a database" in errors
    assert "Traceback" not in errors
