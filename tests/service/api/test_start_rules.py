"""Rules of starts, one by one (docs/api/runs.md "Start", docs/api/errors.md "What the client sends again")."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from agentsvc_nb.wire.limits import UPLOAD_TTL_SECONDS
from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture, stop
from tests.support.waiting import until


def test_the_hold_of_a_sync_start_is_measured_from_its_receipt(stage: ServiceFixture) -> None:
    """An upload that takes as long as the hold leaves nothing of it, however soon the run would have ended."""
    wire = stage.open(stage.other(sync_hold_seconds=1.5))

    def slowly() -> Iterator[bytes]:
        begun = time.monotonic()
        yield b'{"message": "wait 0.3", '
        until(lambda: time.monotonic() - begun > 1.6)
        yield b'"sync": true}'

    answer = wire("POST", "/runs", content=slowly())
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


@pytest.mark.parametrize(("script", "status"), [("say x", "completed"), ("fail a b", "failed")])
def test_a_sync_start_is_200_however_the_run_ended(wire: Wire, script: str, status: str) -> None:
    assert wire.finish(script)["status"] == status


def test_a_sync_start_is_200_when_its_run_is_cancelled(stage: ServiceFixture) -> None:
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    run = stage.wire.start("wait 600", headers=headers)
    stage.wire("POST", f"/runs/{run['run_id']}/cancel")
    ended = stage.wire.start("wait 600", 200, sync=True, headers=headers)
    assert (ended["run_id"], ended["status"], ended["last_error"]) == (run["run_id"], "cancelled", None)


def test_what_has_ended_is_not_changed_by_a_cancel(wire: Wire) -> None:
    run = wire.finish("say x")
    for _ in range(2):
        answer = wire("POST", f"/runs/{run['run_id']}/cancel")
        assert (answer.status_code, answer.json()) == (200, run)


def test_json_said_by_a_run_that_failed_is_no_structured_output(wire: Wire) -> None:
    failed = wire.finish('answer {"score": 4}\nfail no_luck It did not work.')
    assert (failed["status"], failed["structured_output"]) == ("failed", None)


def test_a_body_is_checked_before_its_key_is_looked_up(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    wire.finish("say x", headers=headers)
    for body, expected in (({}, "message_required"), ({"message": "x", "sync": 1}, "invalid_sync")):
        assert code(wire("POST", "/runs", json=body, headers=headers)) == expected


@pytest.mark.parametrize("key", ["a", "x" * 128, "A-z_0.9:"])
def test_a_key_has_1_to_128_characters(wire: Wire, key: str) -> None:
    run = wire.finish("say x", headers={"Idempotency-Key": key}, session=uuid.uuid4().hex)
    assert run["status"] == "completed"


@pytest.mark.parametrize("key", ["", "x" * 129, "a b", "a/b", "ü".encode(), "a\tb"])
@pytest.mark.parametrize("path", ["/runs", "/jobs", "/tools/create_images/invoke", "/tools/ask_stefanbrain/invoke"])
def test_any_other_key_is_refused_wherever_it_is_sent(wire: Wire, key: str | bytes, path: str) -> None:
    given = {"steps": 0, "message": "say x", "request": {"brief": "x"}}
    body = {"message": "say x", "tool": "echo_job", "input": given}
    answer = wire("POST", path, json=body, headers={"Idempotency-Key": key})
    assert (answer.status_code, code(answer)) == (400, "invalid_idempotency_key")


def test_a_staged_file_counts_for_24_hours_and_for_many_starts(wire: Wire) -> None:
    answer = wire("POST", "/files", files={"files": ("a.txt", b"alpha")})
    (staged,) = answer.json()["files"]
    told = parsedate_to_datetime(answer.headers["date"])
    left = datetime.fromisoformat(staged["expires_at"]) - told
    assert abs(left.total_seconds() - UPLOAD_TTL_SECONDS) < 60
    for _ in range(2):
        run = wire.finish("say x", file_ids=[staged["id"]])
        listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
        assert [file["path"] for file in listed] == ["uploads/a.txt"]


def test_a_staged_file_attached_twice_is_two_files(wire: Wire) -> None:
    (staged,) = wire("POST", "/files", files={"files": ("a.txt", b"alpha")}).json()["files"]
    run = wire.finish("say x", file_ids=[staged["id"]] * 2)
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    assert [file["path"] for file in listed] == ["uploads/a-2.txt", "uploads/a.txt"]


@pytest.mark.parametrize(("sent", "status"), [(4, 202), (5, 400)])
def test_attachments_are_counted_together(wire: Wire, sent: int, status: int) -> None:
    staged = [("files", (f"{number}.txt", b"x")) for number in range(6)]
    ids = [file["id"] for file in wire("POST", "/files", files=staged).json()["files"]]
    files = [("files", (f"more{number}.txt", b"x")) for number in range(sent)]
    answer = wire("POST", "/runs", data={"payload": json.dumps({"message": "say x", "file_ids": ids})}, files=files)
    assert answer.status_code == status
    assert status == 202 or code(answer) == "too_many_attachments"


def test_a_multipart_start_without_a_payload_is_invalid_json(wire: Wire) -> None:
    assert code(wire("POST", "/runs", files={"files": ("a.txt", b"x")})) == "invalid_json"


def test_a_payload_and_a_json_body_hold_16_mib_and_other_fields_count_for_nothing(wire: Wire) -> None:
    large = "x" * 17_000_000
    body = json.dumps({"message": large})
    part = {"files": ("a.txt", b"x")}
    whole: dict[str, Any] = {"content": body}
    parts: dict[str, Any] = {"data": {"payload": body}, "files": part}
    for options in (whole, parts):
        answer = wire("POST", "/runs", **options)
        assert (answer.status_code, code(answer)) == (413, "attachment_too_large")
    fields = {"other": large, "payload": json.dumps({"message": "say x"})}
    assert wire("POST", "/runs", data=fields, files=part).status_code == 202


def test_a_refused_start_leaves_no_file_and_no_chat(stage: ServiceFixture) -> None:
    chat = stage.wire.new_chat()
    run = stage.wire.start("wait 600", chat=chat)
    payload = json.dumps({"message": "say x", "chat": chat})
    refused = stage.wire("POST", "/runs", data={"payload": payload}, files={"files": ("a.txt", b"x")})
    assert code(refused) == "agent_run_rejected"
    assert stage.wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []
    stop(stage.wire, run)


def test_a_session_is_another_chat_in_a_project_than_in_the_account(wire: Wire, fresh_key: str) -> None:
    project = wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    inside, again = (wire.finish("say x", project=project, session=fresh_key) for _ in range(2))
    outside = wire.finish("say x", session=fresh_key)
    assert inside["chat"] == again["chat"] != outside["chat"]
    assert (inside["project"], outside["project"]) == (project, None)
    by_chat = wire.finish("say x", chat=outside["chat"], session="another")
    assert by_chat["chat"] == outside["chat"], "a chat is taken before a session"


@pytest.mark.parametrize("session", [5, "", "x" * 201, ["a"]])
def test_a_session_has_1_to_200_characters(wire: Wire, session: object) -> None:
    assert code(wire("POST", "/runs", json={"message": "say x", "session": session})) == "invalid_json"


def test_a_large_output_config_is_refused(wire: Wire) -> None:
    config = {"type": "object", "description": "x" * 65_536}
    answer = wire("POST", "/runs", json={"message": "say x", "output_config": config})
    assert (answer.status_code, code(answer)) == (400, "invalid_output_config")
