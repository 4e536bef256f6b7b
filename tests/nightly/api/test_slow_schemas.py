"""Structured output: schemas with patterns, and schemas that would take for ever (docs/api/runs.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from agentsvc_nb import AgentService, AgentServiceError
from agentsvc_nb.testing import RunningService, running_service

WATCH = """
import sys

def watch(event, details):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        said = "started " + str(details[0])
    elif event == "import":
        said = "imported " + details[0]
    else:
        return
    try:
        with open({place!r}, "a") as log:
            print(said, file=log)
    except OSError:
        pass  # a child that may not write

sys.addaudithook(watch)
"""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunningService, Path]]:
    """A service, and the file that says what it imports and which processes it starts."""
    log = tmp_path / "log"
    (tmp_path / "sitecustomize.py").write_text(WATCH.format(place=str(log)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with running_service() as service:
        yield service, log


def test_rows_whose_schema_has_a_pattern_share_two_processes(watched: tuple[RunningService, Path]) -> None:
    service, log = watched
    schema = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}}}
    rows = pd.DataFrame({"number": range(16)})
    with AgentService(service.api_key, service.base_url) as client:
        out = client.map(rows, 'answer {"code": "AB{{number}}"}', schema=schema)
    assert out.code.tolist() == [f"AB{number}" for number in range(16)]
    happened = log.read_text().splitlines()
    assert "imported json" in happened, "it was watched"
    assert 1 <= sum(one.startswith("started") for one in happened) <= 2 * 2, "each is two events: Popen, fork"
    assert set(happened).isdisjoint({"imported jsonschema", "imported rfc3987_syntax", "imported lark"})


def test_an_answer_is_not_judged_by_a_pattern_for_ever(client: AgentService) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=.*z)a"}}}
    run = client.runs.start('answer {"a": "' + "a" * 500_000 + '"}', output_config=schema)
    assert client.runs.start("say beside it", sync=True).output == "beside it"
    fine = client.runs.start('answer {"a": "az"}', output_config=schema, sync=True)
    assert (fine.status, fine.structured_output) == ("completed", {"a": "az"})
    failed = client.runs.wait(run.run_id)
    assert (failed.status, failed.last_error) == ("failed", "output_schema_mismatch")


def test_a_schema_that_fans_out_is_refused_at_the_start(client: AgentService) -> None:
    parts = {f"A{n}": {"allOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(30)}
    schema = {"type": "object", "$defs": {**parts, "A30": {"type": "object"}}, "allOf": [{"$ref": "#/$defs/A0"}]}
    with pytest.raises(AgentServiceError, match="too long") as refused:
        client.runs.start("answer {}", output_config=schema)
    assert (refused.value.status, refused.value.code) == (400, "invalid_output_config")
