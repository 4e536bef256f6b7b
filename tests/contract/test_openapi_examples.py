"""The examples on the page of the API do what they say, in Python and in curl, against a real service."""

from __future__ import annotations

import shlex
from pathlib import Path
from string import Template
from typing import Any

import httpx
import pytest

from agentsvc_nb.service.http import openapi
from agentsvc_nb.service.web import reference
from agentsvc_nb.service.web.reference import DescribedOperation
from agentsvc_nb.wire.routes import ROUTES
from tests.contract.seeding import Seeded, waiting_call

BUILT = {route.operation_id for route in ROUTES.values() if route.access != "session"}
ENTRIES = [
    entry
    for chapter in reference.chapters(openapi.document())
    for entry in chapter.entries
    if entry.id in BUILT  # the others need a signed-in browser
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_examples_do_what_they_say(
    seeded: Seeded, entry: DescribedOperation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("a summer sale")
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(entry.python, _variables(seeded, entry, 0), found)
    assert found["answer"].is_success
    answer = _curl(entry.curl, _variables(seeded, entry, -1))
    assert answer.is_success, answer.text


def _variables(seeded: Seeded, entry: DescribedOperation, which: int) -> dict[str, str]:
    """What the examples leave open: the first or the last of the known values."""
    known = {}
    given = {**seeded.known, **(waiting_call(seeded.service) if entry.id == "answerRuns" else {})}
    for row in entry.parameters:
        if values := given.get(f"{row.place}.{row.name}"):
            known[row.name] = values[which]
    if entry.id == "resumeRuns":
        known["run_id"] = seeded.failed_runs[which]
    return {
        **known,
        "base_url": seeded.service.base_url,
        "BASE_URL": seeded.service.base_url,
        "api_key": seeded.service.api_key,
        "SERVICE_API_KEY": seeded.service.api_key,
    }


def _curl(command: str, variables: dict[str, str]) -> httpx.Response:
    """What curl would send: a shell is not on every machine."""
    words = iter(shlex.split(Template(command).substitute(variables).replace("\\\n", ""))[1:])
    method, url = "", ""
    headers: dict[str, str] = {}
    sent: dict[str, Any] = {}
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            sent["content"] = next(words)
        elif word == "-F":
            field, _, path = next(words).partition("=@")
            sent["files"] = {field: Path(path).read_bytes()}
        else:
            url = word
    return httpx.request(method, url, headers=headers, **sent)
