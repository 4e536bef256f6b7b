"""`Chat()` in a real kernel: code of the agent, its figures, and a database, between the cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.notebook.jupyter import Jupyter, jupyter
from tests.support.waiting import until

DATABASE = "import duckdb; db = duckdb.connect(); _ = db.sql('CREATE TABLE sales AS SELECT 42 AS sold')"
CHAT = """%config Ask.kernel = "ask"
%config Ask.connection = "db"
import agentsvc_nb
from tests.notebook.fronts import ask, decide, markup, text
chat = agentsvc_nb.Chat()
chat"""
FIGURE = "import matplotlib.pyplot as plt\nlines = plt.plot([1, 3, 2])\nprint('drawn')"


@pytest.fixture
def kernel(service: RunningService, tmp_path: Path) -> Iterator[Jupyter]:
    named = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    with jupyter(tmp_path, **named) as started:
        yield started


def test_a_message_has_code_run_and_the_database_asked(kernel: Jupyter, service: RunningService) -> None:
    kernel.run(DATABASE)
    assert kernel.run(CHAT, cell_id="c1").error is None
    asked = json.dumps({"sql": "SELECT sold FROM sales"})
    script = f"call query_database {asked}\ncall run_in_kernel {json.dumps({'code': FIGURE})}\nsay All done."
    kernel.run(f"ask(chat.front, {script!r})", cell_id="c2")
    with AgentService(service.api_key, service.base_url) as client:
        run_id = until(lambda: [run.run_id for run in client.runs.list(status="running") if "All done" in run.message])[
            0
        ]

        def told(kind: str) -> list[dict[str, Any]]:
            return [event.payload for event in client.runs.events(run_id).data if event.type == kind]

        # No cell runs while it waits for the query, which only an idle kernel does.
        until(lambda: "run_in_kernel" in [call["tool"] for call in told("client_call.waiting")])
        until(lambda: kernel.run("decide(chat.front, True)").error is None)
        run = until(lambda: client.runs.get(run_id), lambda run: run.ended)
        found, ran = told("tool.result")
        assert found["content"][0]["json"]["rows"] == [[42]]
        assert len(ran["content"]) == 2, ran
        said, picture = ran["content"]
        assert said["text"].startswith("drawn")
        assert client.files.head(picture["path"], 4, chat=run.chat) == b"\x89PNG"
    until(lambda: kernel.run("print('completed' in text(chat.front))").printed == "True\n")
    assert kernel.run("print('data:image/png' in markup(chat.front))").printed == "True\n"
    left = kernel.run("chat.close(); print(chat._repr_mimebundle_()['text/html'])").printed
    assert "data:image/png;base64" in left
    assert "All done." in left
