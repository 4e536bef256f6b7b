"""POST /runs over HTTP (docs/api/runs.md "Start", docs/api/errors.md "What the client sends again")."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import HASTY, ServiceFixture, stop
from tests.support.waiting import until

NOBODY: Final = "00000000-0000-0000-0000-000000000000"


@pytest.mark.rule("A start is a 202 with `status: queued` and the run id.")
def test_a_start_is_a_queued_record_and_the_run_goes_on(wire: Wire) -> None:
    run = wire.start("say one\nsay two\nusage 1000 500", chat=None, project=None, on_busy=None, unheard_of=1)
    assert (run["object"], run["status"], run["output"]) == ("agent_run", "queued", None)
    assert run["chat"].startswith("chat_")
    ended = until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda found: found["ended_at"])
    assert ended["output"] == "one\ntwo"
    assert ended["usage"] == {"input_tokens": 1000, "output_tokens": 500, "cost_microcents": 150_000}
    assert ended["started_at"] <= ended["ended_at"]


@pytest.mark.rule("An answer that does not match `output_config` is `output_schema_mismatch`.")
def test_the_answer_is_checked_against_the_schema(wire: Wire) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert wire.finish('answer {"score": 4}', output_config=schema)["status"] == "completed"
    failed = wire.finish('answer {"score": 9}', output_config=schema)
    assert (failed["status"], failed["last_error"]) == ("failed", "output_schema_mismatch")


@pytest.mark.rule("`last_error` says why a run failed.")
def test_a_failure_carries_its_code_and_message(wire: Wire) -> None:
    failed = wire.finish("say partly\nfail no_luck It did not work.")
    assert (failed["last_error"], failed["last_error_message"]) == ("no_luck", "It did not work.")


@pytest.mark.rule("A start in a busy chat is `agent_run_rejected` with `activeRunId` and starts nothing.")
def test_a_busy_chat_is_refused_with_the_run_that_holds_it(wire: Wire, fresh_key: str) -> None:
    chat, keyed = wire.new_chat(), {"Idempotency-Key": fresh_key}
    holder = wire.start("wait 30", chat=chat, headers=keyed)
    payload = json.dumps({"message": "say no", "chat": chat})
    answer = wire("POST", "/runs", data={"payload": payload}, files={"files": ("a.txt", b"x")})
    assert (answer.status_code, code(answer)) == (409, "agent_run_rejected")
    assert answer.json()["activeRunId"] == holder["run_id"]
    assert wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []
    assert wire.start("wait 30", chat=chat, headers=keyed)["run_id"] == holder["run_id"], "a replay is no second turn"
    stop(wire, holder)
    assert wire.finish("say free", chat=chat)["output"] == "free"


@pytest.mark.rule("An Idempotency-Key returns the original run, even with other arguments.")
def test_a_key_gives_the_original_run_whatever_the_arguments(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    first = wire.start("wait 0.3\nsay original", headers=headers)
    again = wire.start("say another", headers=headers)
    assert (again["run_id"], again["status"]) == (first["run_id"], "queued")
    ended = wire.start("say a third", 200, sync=True, headers=headers)
    assert (ended["run_id"], ended["output"]) == (first["run_id"], "original")
    assert wire.start("say a fourth", 200, headers=headers)["output"] == "original"


@pytest.mark.rule("An Idempotency-Key has 1 to 128 of the allowed characters.")
@pytest.mark.parametrize(("key", "right"), [("A-z_0.9:" * 16, True), ("x" * 129, False), ("", False), ("a/b", False)])
def test_a_key_has_1_to_128_characters(wire: Wire, key: str, right: bool) -> None:
    given = {"steps": 0, "message": "say x", "request": {"brief": "Headline: x"}}
    for path in ("/runs", "/jobs", "/tools/ask_stefanbrain/invoke"):
        body = {"message": "say x", "tool": "echo_job", "input": given, "session": uuid.uuid4().hex}
        answer = wire("POST", path, json=body, headers={"Idempotency-Key": key})
        assert answer.is_success if right else code(answer) == "invalid_idempotency_key"


@pytest.mark.rule("Concurrent starts with one Idempotency-Key are one run.")
def test_two_keyed_starts_at_one_moment_are_one_run(wire: Wire, fresh_key: str) -> None:
    def start(_: int) -> str:
        run_id: str = wire.start("wait 5", headers={"Idempotency-Key": fresh_key})["run_id"]
        return run_id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(8)))) == 1


@pytest.mark.rule("Files of a multipart start become `uploads/` of the chat.")
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


@pytest.mark.rule("A sync start is a 200 with the ended run, however it ended.")
def test_a_sync_start_is_200_when_its_run_is_cancelled(stage: ServiceFixture) -> None:
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    run = stage.wire.start("wait 600", headers=headers)
    stage.wire("POST", f"/runs/{run['run_id']}/cancel")
    ended = stage.wire.start("wait 600", 200, sync=True, headers=headers)
    assert (ended["run_id"], ended["status"], ended["last_error"]) == (run["run_id"], "cancelled", None)


@pytest.mark.rule("A session label has its own chat in each project.")
def test_a_session_is_another_chat_in_a_project_than_in_the_account(wire: Wire, fresh_key: str) -> None:
    project = wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    inside, again = (wire.finish("say x", project=project, session=fresh_key) for _ in range(2))
    outside = wire.finish("say x", session=fresh_key)
    assert inside["chat"] == again["chat"] != outside["chat"]
    assert (inside["project"], outside["project"]) == (project, None)
    by_chat = wire.finish("say x", chat=outside["chat"], session="another")
    assert by_chat["chat"] == outside["chat"], "a chat is taken before a session"


@pytest.mark.rule("Each wrong field of a start has its own code.")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"message": "\x1c"}, "message_required"),
        ({"chat": "new"}, "invalid_chat"),
        ({"chat": NOBODY}, "chat_not_found"),
        ({"project": NOBODY[:-1]}, "invalid_project"),
        ({"file_ids": ["upload_x"] * 11}, "too_many_attachments"),
        ({"output_config": {"type": "object", "description": "x" * 65_536}}, "invalid_output_config"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named_by_its_code(wire: Wire, fields: dict[str, Any], expected: str) -> None:
    assert code(wire("POST", "/runs", json={"message": "x", **fields})) == expected


@pytest.mark.rule("A sync start that outlasts the 90 s hold is the 202 handle.")
def test_a_sync_start_that_outlasts_its_hold_is_the_handle(stage: ServiceFixture) -> None:
    wire = stage.open(stage.other(**HASTY))
    stop(wire, wire.start("wait 60", sync=True))


@pytest.mark.rule("A staged upload is valid for 24 hours, for any number of starts.")
def test_a_staged_upload_expires(stage: ServiceFixture) -> None:
    wire = stage.open(stage.other(**HASTY))
    (staged,) = wire("POST", "/files", files={"files": ("a.txt", b"x")}).json()["files"]
    assert code(wire("POST", "/runs", json={"message": "x", "file_ids": [staged["id"]]})) == "upload_not_found"


@pytest.mark.rule("`offline` answers `output_config` with `model_required`.")
def test_structured_output_needs_a_model(offline_service: RunningService, stage: ServiceFixture) -> None:
    run = stage.open(offline_service).finish("Score this", output_config={"type": "object"})
    assert (run["status"], run["last_error"]) == ("failed", "model_required")


@pytest.mark.rule("An Idempotency-Key counts per chat, session and project, until the UTC day ends.")
def test_a_key_counts_for_the_address_as_given(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    runs = [
        wire.start("say x", headers=headers),
        wire.start("say x", headers=headers, session=fresh_key),
        wire.start("say x", headers=headers, chat=wire.new_chat()),
    ]
    assert len({run["run_id"] for run in runs}) == 3
