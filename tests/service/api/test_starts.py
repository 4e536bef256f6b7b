"""POST /runs over HTTP (docs/api/runs.md "Start", docs/api/errors.md "What the client sends again")."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Opened, Wire, code
from tests.service.api.service_fixture import HASTY, ServiceFixture, stop
from tests.support.waiting import until

NOBODY: Final = "00000000-0000-0000-0000-000000000000"


def test_a_start_is_a_queued_record_and_the_run_goes_on(wire: Wire) -> None:
    run = wire.start("say hello")
    assert run["object"] == "agent_run"
    assert run["status"] == "queued"
    assert run["chat"].startswith("chat_")
    assert run["app_url"].startswith("http://127.0.0.1:")
    assert run["output"] is None


def test_a_sync_start_holds_until_the_end(wire: Wire) -> None:
    run = wire.finish("say one\nsay two\nusage 1000 500")
    assert run["output"] == "one\ntwo"
    assert run["structured_output"] is None
    assert run["usage"] == {"input_tokens": 1000, "output_tokens": 500, "cost_microcents": 150_000}
    assert run["started_at"] <= run["ended_at"]


def test_the_answer_is_checked_against_the_schema(wire: Wire) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert wire.finish('answer {"score": 4}', output_config=schema)["status"] == "completed"
    failed = wire.finish('answer {"score": 9}', output_config=schema)
    assert (failed["status"], failed["last_error"]) == ("failed", "output_schema_mismatch")


def test_a_run_that_needs_step_1501_is_budget_limited(wire: Wire) -> None:
    failed = wire.finish("step 1501\nsay too much")
    assert (failed["status"], failed["last_error"], failed["steps"]) == ("failed", "budget_limited", 1500)


def test_a_failure_carries_its_code_and_message(wire: Wire) -> None:
    failed = wire.finish("say partly\nfail no_luck It did not work.")
    assert (failed["last_error"], failed["last_error_message"]) == ("no_luck", "It did not work.")


def test_null_counts_as_absent_and_unknown_fields_are_ignored(wire: Wire) -> None:
    assert wire.finish("say x", chat=None, project=None, on_busy=None, unheard_of=1)["status"] == "completed"


def test_a_busy_chat_is_refused_with_the_run_that_holds_it(wire: Wire) -> None:
    chat = wire.new_chat()
    holder = wire.start("wait 30", chat=chat)
    answer = wire("POST", "/runs", json={"message": "say no", "chat": chat})
    assert (answer.status_code, code(answer)) == (409, "agent_run_rejected")
    assert answer.json()["activeRunId"] == holder["run_id"]
    assert wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []
    wire("POST", f"/runs/{holder['run_id']}/cancel")


def test_a_key_gives_the_original_run_whatever_the_arguments(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    first = wire.start("wait 0.3\nsay original", headers=headers)
    again = wire.start("say another", headers=headers)
    assert (again["run_id"], again["status"]) == (first["run_id"], "queued")
    ended = wire.start("say a third", 200, sync=True, headers=headers)
    assert (ended["run_id"], ended["output"]) == (first["run_id"], "original")
    assert wire.start("say a fourth", 200, headers=headers)["output"] == "original"


def test_a_replay_never_meets_its_own_409(wire: Wire, fresh_key: str) -> None:
    chat = wire.new_chat()
    headers = {"Idempotency-Key": fresh_key}
    first = wire.start("wait 0.5", chat=chat, headers=headers)
    assert wire.start("wait 0.5", chat=chat, headers=headers)["run_id"] == first["run_id"]


def test_a_key_whose_start_failed_stays_free(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    assert wire("POST", "/runs", json={"message": ""}, headers=headers).status_code == 400
    assert wire.start("say now", 200, sync=True, headers=headers)["output"] == "now"


def test_two_keyed_starts_at_one_moment_are_one_run(wire: Wire, fresh_key: str) -> None:
    def start(_: int) -> str:
        run_id: str = wire.start("wait 5", headers={"Idempotency-Key": fresh_key})["run_id"]
        return run_id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(8)))) == 1


def test_files_sent_along_become_uploads(wire: Wire) -> None:
    files = [("files", ("brief.md", b"# Brief")), ("files", ("brief.md", b"# Another")), ("files", ("ünï.txt", b"x"))]
    answer = wire("POST", "/runs", data={"payload": json.dumps({"message": "say ok", "sync": True})}, files=files)
    assert answer.status_code == 200, answer.text
    listed = wire("GET", "/files", params={"chat_id": answer.json()["chat"]}).json()["files"]
    assert [(file["path"], file["kind"]) for file in listed] == [
        ("uploads/brief-2.md", "upload"),
        ("uploads/brief.md", "upload"),
        ("uploads/ünï.txt", "upload"),
    ]


def test_staged_files_are_attached_by_id(wire: Wire) -> None:
    staged = wire("POST", "/files", files=[("files", ("a.txt", b"alpha"))]).json()["files"]
    run = wire.finish("say ok", file_ids=[staged[0]["id"]])
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    assert [(file["path"], file["id"]) for file in listed] == [("uploads/a.txt", staged[0]["sha256"])]


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
def test_any_other_key_is_refused_wherever_it_is_sent(wire: Wire, key: str | bytes) -> None:
    given = {"steps": 0, "message": "say x", "request": {"brief": "x"}}
    body = {"message": "say x", "tool": "echo_job", "input": given}
    for path in ("/runs", "/jobs", "/tools/create_images/invoke", "/tools/ask_stefanbrain/invoke"):
        answer = wire("POST", path, json=body, headers={"Idempotency-Key": key})
        assert (answer.status_code, code(answer)) == (400, "invalid_idempotency_key")


def test_a_staged_file_attached_twice_is_two_files(wire: Wire) -> None:
    (staged,) = wire("POST", "/files", files={"files": ("a.txt", b"alpha")}).json()["files"]
    run = wire.finish("say x", file_ids=[staged["id"]] * 2)
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    assert [file["path"] for file in listed] == ["uploads/a-2.txt", "uploads/a.txt"]


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


@pytest.mark.parametrize(
    ("fields", "expected", "status"),
    [
        ({"message": None}, "message_required", 400),
        ({"message": "\x1c"}, "message_required", 400),
        ({"message": 5}, "message_required", 400),
        ({"chat": 7}, "invalid_chat", 400),
        ({"chat": "new"}, "invalid_chat", 400),
        ({"file_ids": ["upload_x"] * 11}, "too_many_attachments", 400),
        ({"file_ids": "upload_x"}, "invalid_json", 400),
        ({"file_ids": ["x"]}, "invalid_json", 400),
        ({"output_config": {"type": "object", "description": "x" * 65_536}}, "invalid_output_config", 400),
    ],
    ids=str,
)
def test_a_wrong_field_is_named_by_its_code(wire: Wire, fields: dict[str, Any], expected: str, status: int) -> None:
    answer = wire("POST", "/runs", json={"message": "x", **fields})
    assert (answer.status_code, code(answer)) == (status, expected)


@pytest.mark.parametrize("path", ["/runs", "/jobs"])
def test_a_reference_is_an_id_of_its_form_or_a_uuid(wire: Wire, path: str) -> None:
    for field, value, expected in (
        ("chat", NOBODY, "chat_not_found"),
        ("chat", "chat_" + "a" * 64, "chat_not_found"),
        ("chat", "chat_" + "a" * 65, "invalid_chat"),
        ("chat", "chat_", "invalid_chat"),
        ("project", NOBODY, "project_not_found"),
        ("project", NOBODY[:-1], "invalid_project"),
        ("project", "proj_" + "a" * 65, "invalid_project"),
    ):
        body = {"message": "say x", "tool": "echo_job", "input": {"steps": 0}, field: value}
        assert code(wire("POST", path, json=body)) == expected, value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        rb'{"message": "\ud800"}',
        b'{"message": "x", "n": NaN}',
        b'{"message": "x", "n": 1e999}',
        b'{"message": "x", "n": ' + b"[" * 101 + b"]" * 101 + b"}",
        b"[" * 100_000,
    ],
    ids=range(8),
)
def test_a_body_that_is_no_object_is_invalid_json(wire: Wire, body: bytes) -> None:
    assert code(wire("POST", "/runs", content=body)) == "invalid_json"


def test_the_hold_of_a_sync_start_is_measured_from_its_receipt(stage: ServiceFixture) -> None:
    """An upload that takes as long as the hold leaves nothing of it, however soon the run would have ended."""
    wire = stage.open(stage.other(**HASTY))

    def slowly() -> Iterator[bytes]:
        begun = time.monotonic()
        yield b'{"message": "wait 0.2", '
        until(lambda: time.monotonic() - begun > HASTY["sync_hold_seconds"])
        yield b'"sync": true}'

    answer = wire("POST", "/runs", content=slowly())
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


def test_a_sync_start_that_outlasts_its_hold_is_the_handle(stage: ServiceFixture) -> None:
    wire = stage.open(stage.other(**HASTY))
    stop(wire, wire.start("wait 60", sync=True))


def test_a_staged_upload_expires(stage: ServiceFixture) -> None:
    wire = stage.open(stage.other(**HASTY))
    (staged,) = wire("POST", "/files", files={"files": ("a.txt", b"x")}).json()["files"]
    assert code(wire("POST", "/runs", json={"message": "x", "file_ids": [staged["id"]]})) == "upload_not_found"


def test_structured_output_needs_a_model(offline_service: RunningService, opened: Opened) -> None:
    run = opened(offline_service).finish("Score this", output_config={"type": "object"})
    assert (run["status"], run["last_error"]) == ("failed", "model_required")


def test_a_key_counts_for_the_address_as_given(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    runs = [
        wire.start("say x", headers=headers),
        wire.start("say x", headers=headers, session=fresh_key),
        wire.start("say x", headers=headers, chat=wire.new_chat()),
    ]
    assert len({run["run_id"] for run in runs}) == 3
