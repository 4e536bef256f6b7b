"""POST /runs over HTTP (docs/api/runs.md "Start")."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentsvc_nb import AgentService, AgentServiceError
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import Run
from tests.service.api.conftest import Wire, code
from tests.support.contents import lose


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


def test_a_run_is_written_as_its_model_writes_it(wire: Wire) -> None:
    ended = wire.finish('answer {"score": 4}\nusage 1000 500')
    assert Run(**ended).model_dump() == ended
    assert list(ended) == list(Run.model_fields)


def test_a_json_answer_is_structured_output(wire: Wire) -> None:
    assert wire.finish('answer {"score": 4}')["structured_output"] == {"score": 4}


def test_the_answer_is_checked_against_the_schema(wire: Wire) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}, "required": ["score"]}
    assert wire.finish('answer {"score": 4}', output_config=schema)["status"] == "completed"
    failed = wire.finish('answer {"score": 9}', output_config=schema)
    assert (failed["status"], failed["last_error"]) == ("failed", "output_schema_mismatch")


def test_a_run_that_needs_step_1501_is_budget_limited(wire: Wire) -> None:
    assert wire.finish("step 1500\nsay fine")["steps"] == 1500
    failed = wire.finish("step 1501\nsay too much")
    assert (failed["status"], failed["last_error"], failed["steps"]) == ("failed", "budget_limited", 1500)


def test_a_failure_carries_its_code_and_message(wire: Wire) -> None:
    failed = wire.finish("say partly\nfail no_luck It did not work.")
    assert (failed["last_error"], failed["last_error_message"]) == ("no_luck", "It did not work.")


BAD_STARTS: list[tuple[dict[str, Any], str, int]] = [
    ({}, "message_required", 400),
    ({"message": ""}, "message_required", 400),
    ({"message": " \n"}, "message_required", 400),
    ({"message": "\x1c"}, "message_required", 400),
    ({"message": 5}, "message_required", 400),
    ({"message": None}, "message_required", 400),
    ({"message": "x", "chat": "nonsense"}, "invalid_chat", 400),
    ({"message": "x", "chat": 7}, "invalid_chat", 400),
    ({"message": "x", "chat": "chat_" + "a" * 65}, "invalid_chat", 400),
    ({"message": "x", "chat": "chat_unknown"}, "chat_not_found", 404),
    ({"message": "x", "project": "nonsense"}, "invalid_project", 400),
    ({"message": "x", "project": "proj_unknown"}, "project_not_found", 404),
    ({"message": "x", "sync": "yes"}, "invalid_sync", 400),
    ({"message": "x", "on_busy": "queue"}, "invalid_on_busy", 400),
    ({"message": "x", "output_config": {"type": "array"}}, "invalid_output_config", 400),
    ({"message": "x", "file_ids": ["upload_unknown"]}, "upload_not_found", 404),
    ({"message": "x", "file_ids": ["upload_x"] * 11}, "too_many_attachments", 400),
    ({"message": "x", "file_ids": "upload_x"}, "invalid_json", 400),
    ({"message": "x", "file_ids": ["x"]}, "invalid_json", 400),
]


@pytest.mark.parametrize(("body", "expected", "status"), BAD_STARTS)
def test_a_wrong_field_is_named_by_its_code(wire: Wire, body: dict[str, Any], expected: str, status: int) -> None:
    answer = wire("POST", "/runs", json=body)
    assert (answer.status_code, code(answer)) == (status, expected)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        rb'{"message": "\ud800"}',
        rb'{"message": "x", "session": "\udfff"}',
        b'{"message": "x", "n": NaN}',
        b'{"message": "x", "n": 1e999}',
        b'{"message": "x", "n": ' + b"[" * 101 + b"]" * 101 + b"}",
        b"[" * 100_000,
        '{"message": "x"}'.encode("utf-16"),
    ],
)
def test_a_body_that_is_no_object_is_invalid_json(wire: Wire, body: bytes) -> None:
    assert code(wire("POST", "/runs", content=body)) == "invalid_json"


@pytest.mark.parametrize("key", ["", "a b", "ä".encode(), "x" * 129, "semi;colon"])
def test_a_malformed_idempotency_key_is_refused(wire: Wire, key: Any) -> None:
    answer = wire("POST", "/runs", json={"message": "say x"}, headers={"Idempotency-Key": key})
    assert code(answer) == "invalid_idempotency_key"


def test_null_counts_as_absent_and_unknown_fields_are_ignored(wire: Wire) -> None:
    assert wire.finish("say x", chat=None, project=None, on_busy=None, unheard_of=1)["status"] == "completed"


def test_a_session_has_its_own_chat(wire: Wire, fresh_key: str) -> None:
    first = wire.finish("say a", session=fresh_key)
    assert wire.finish("say b", session=fresh_key)["chat"] == first["chat"]
    assert wire.finish("say c")["chat"] != first["chat"]


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

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(start, range(16)))) == 1


def test_the_service_can_be_told_to_refuse(wire: Wire) -> None:
    answer = wire("POST", "/runs", json={"message": "fail-http runtime_capacity_busy"})
    assert (answer.status_code, code(answer)) == (429, "runtime_capacity_busy")
    assert answer.headers["retry-after"] == "5"


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


def test_a_later_attachment_of_the_same_name_replaces_the_first_and_keeps_its_version(wire: Wire) -> None:
    def attach(content: bytes, chat: str | None) -> str:
        payload = json.dumps({"message": "say ok", "sync": True, "chat": chat})
        run = wire("POST", "/runs", data={"payload": payload}, files=[("files", ("a.txt", content))]).json()
        found: str = run["chat"]
        return found

    chat = attach(b"one", None)
    attach(b"two", chat)
    attach(b"two", chat)
    listed = wire("GET", "/files", params={"chat_id": chat}).json()["files"]
    assert [file["path"] for file in listed] == ["uploads/a.txt"]
    versions = wire("GET", "/files/versions", params={"chat_id": chat, "path": "uploads/a.txt"}).json()["data"]
    contents = [wire("GET", version["download_url"]).content for version in versions]
    assert contents == [b"two", b"one"]


@pytest.mark.parametrize("answer", ['{"a": NaN}', '{"a": 1e999}', '{"a": ' * 300 + "1" + "}" * 300])
def test_an_answer_that_json_cannot_carry_is_text(wire: Wire, answer: str) -> None:
    run = wire.finish(f"answer {answer}")
    assert (run["status"], run["output"], run["structured_output"]) == ("completed", answer, None)
    assert wire.events(run["run_id"])[-1]["type"] == "run.ended"


def test_a_large_message_is_no_trouble(wire: Wire) -> None:
    text = "x" * 3_900_000
    assert wire.finish(f"say {text}")["output"] == text


def test_absurd_usage_does_not_keep_a_run_from_ending(wire: Wire) -> None:
    assert wire.finish("usage 99999999999999999999999 1\nsay fine")["status"] == "completed"


def test_a_budget_limited_run_is_not_billed(wire: Wire) -> None:
    run = wire.finish("usage 1000 1000\nstep 1501")
    assert (run["last_error"], run["usage"]["cost_microcents"]) == ("budget_limited", 0)


def test_references_come_before_the_key(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    wire.start("say x", headers=headers, project=None)
    answer = wire("POST", "/runs", json={"message": "x", "project": "proj_none"}, headers=headers)
    assert code(answer) == "project_not_found"


def test_a_sync_start_that_outlasts_its_hold_is_the_handle() -> None:
    with running_service(sync_hold_seconds=0.2) as brief, AgentService(brief.api_key, brief.base_url) as client:
        run = client.runs.start("wait 30", sync=True)
        assert run.status == "queued"
        client.runs.cancel(run.run_id)


def test_a_staged_upload_expires() -> None:
    with running_service(upload_ttl_seconds=0) as brief, AgentService(brief.api_key, brief.base_url) as client:
        (staged,) = client.files.upload(("a.txt", b"x"))
        with pytest.raises(AgentServiceError) as caught:
            client.runs.start("say x", file_ids=[staged.id])
        assert caught.value.code == "upload_not_found"


def test_a_key_counts_for_the_address_as_given(wire: Wire, fresh_key: str) -> None:
    headers = {"Idempotency-Key": fresh_key}
    runs = [
        wire.start("say x", headers=headers),
        wire.start("say x", headers=headers, session=fresh_key),
        wire.start("say x", headers=headers, chat=wire.new_chat()),
    ]
    assert len({run["run_id"] for run in runs}) == 3


def test_times_are_rfc_3339_in_utc_with_milliseconds(wire: Wire) -> None:
    run = wire.finish("say x")
    for name in ("created_at", "started_at", "ended_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", run[name])


def test_structured_output_needs_a_model(offline_service: RunningService) -> None:
    with AgentService(offline_service.api_key, offline_service.base_url) as client:
        run = client.runs.start("Score this", output_config={"type": "object"}, sync=True)
    assert (run.status, run.last_error) == ("failed", "model_required")


def test_an_unexpected_failure_is_an_envelope() -> None:
    with running_service() as broken, AgentService(broken.api_key, broken.base_url, max_retries=0) as client:
        chat = client.runs.start("write a.txt x", sync=True).chat
        assert chat
        lose(broken, b"x")
        with pytest.raises(AgentServiceError) as caught:
            client.files.download("a.txt", chat=chat)
    assert (caught.value.status, caught.value.code) == (500, "internal_error")
