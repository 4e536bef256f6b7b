"""Requests that are wrong, by the code that each is answered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import httpx

from agentsvc_nb.wire.limits import MCP_BODY_BYTES
from tests.service.api.conftest import Wire
from tests.service.api.mcp_caller import announced
from tests.service.api.service_fixture import ServiceFixture
from tests.service.api.signing import ACCEPTED, KEYS

Provoke = Callable[[ServiceFixture], httpx.Response]

WAV: Final = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(16)
NOBODY: Final = str(UUID(int=0))


def start(
    stage: ServiceFixture, headers: dict[str, str] | None = None, wire: Wire | None = None, **fields: Any
) -> httpx.Response:
    return (wire or stage.wire)("POST", "/runs", json={"message": "say x", **fields}, headers=headers)


def attach(stage: ServiceFixture, *files: tuple[str, bytes], path: str = "/runs") -> httpx.Response:
    parts = [("files", file) for file in files]
    return stage.wire("POST", path, data={"payload": json.dumps({"message": "say x"})}, files=parts)


def invoke(stage: ServiceFixture, tool: str, **body: Any) -> httpx.Response:
    return stage.wire("POST", f"/tools/{tool}/invoke", json=body)


def _no_multipart(stage: ServiceFixture) -> httpx.Response:
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    return stage.wire("POST", "/runs", content=b"--b\r\ncut", headers=headers)


def _wrong_cursor(stage: ServiceFixture) -> httpx.Response:
    run = stage.wire.finish("say x")
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "last"}
    return stage.wire("GET", f"/runs/{run['run_id']}/events", headers=headers)


def _too_large(stage: ServiceFixture, path: str) -> httpx.Response:
    small = stage.open(stage.other(max_file_bytes=1_000))
    files = {"files": ("big.txt", b"x" * 1_001)}
    return small("POST", path, data={"payload": '{"message": "say x"}'}, files=files)


def _range(stage: ServiceFixture) -> httpx.Response:
    chat = stage.wire.finish("write a.txt short")["chat"]
    look = {"chat_id": chat, "path": "a.txt"}
    return stage.wire("GET", "/files/download", params=look, headers={"Range": "bytes=99-"})


def _label(stage: ServiceFixture) -> httpx.Response:
    body = {"labels": {"mood": "good"}, "expected_version": 1}
    return stage.wire("PUT", f"/landing-pages/{stage.page()}/labels", json=body)


def _bad_skill(stage: ServiceFixture) -> httpx.Response:
    project = stage.wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    return stage.wire("PATCH", f"/projects/{project}", json={"skills": {"tone": {"SKILL.md": "Be dry."}}})


def _eleven(stage: ServiceFixture, path: str) -> httpx.Response:
    return attach(stage, *((f"{number}.txt", b"x") for number in range(11)), path=path)


def _key(stage: ServiceFixture, **body: Any) -> httpx.Response:
    return stage.browser("POST", KEYS, json={"name": "made", **body})


def _approval(stage: ServiceFixture, call: str | None = None, **body: Any) -> httpx.Response:
    """Of a call that was made without waiting."""
    run_id, made = stage.called()
    return stage.wire("POST", f"/runs/{run_id}/calls/{call or made}/approval", json=body)


def _result(stage: ServiceFixture, **body: Any) -> httpx.Response:
    run_id, call = stage.asked()
    path = f"/runs/{run_id}/calls/{call}/result"
    answer = stage.wire("POST", path, json=body)
    assert stage.wire("POST", path, json={"content": []}).is_success, "it waits on"
    return answer


WRONG_REQUESTS: Final[dict[str, Provoke]] = {
    "message_required": lambda s: start(s, message=" "),
    "invalid_chat": lambda s: start(s, chat="nonsense"),
    "invalid_project": lambda s: start(s, project="nonsense"),
    "invalid_sync": lambda s: start(s, sync="yes"),
    "invalid_on_busy": lambda s: start(s, on_busy="queue"),
    "invalid_output_config": lambda s: start(s, output_config={"type": "array"}),
    "invalid_model": lambda s: start(s, model="nobody:none"),
    "invalid_limits": lambda s: start(s, max_cents=0),
    "invalid_json": lambda s: s.wire("POST", "/runs", content=b"{"),
    "invalid_multipart": _no_multipart,
    "invalid_idempotency_key": lambda s: start(s, {"Idempotency-Key": "a b"}),
    "too_many_attachments": lambda s: _eleven(s, "/runs"),
    "unsupported_attachment": lambda s: attach(s, ("voice.txt", WAV)),
    "invalid_run_id": lambda s: s.wire("GET", "/runs/nonsense"),
    "invalid_query": lambda s: s.wire("GET", "/files"),
    "invalid_last_event_id": _wrong_cursor,
    "invalid_tool_input": lambda s: invoke(s, "create_images", input={}),
    "unsupported_tool_request": lambda s: s.wire("POST", "/jobs", json={"tool": "ask_stefanbrain"}),
    "file_too_large": lambda s: _too_large(s, "/files"),
    "too_many_files": lambda s: _eleven(s, "/files"),
    "invalid_feedback": lambda s: s.wire("POST", "/feedback", json={"summary": ""}),
    "invalid_label": _label,
    "invalid_approval": lambda s: _approval(s, approved=1),
    "invalid_skill": _bad_skill,
    "invalid_client_tool": lambda s: start(s, client_tools=[{"name": "look_up"}]),
    "invalid_call_result": lambda s: _result(s, pending=True, content=[]),
    "call_result_too_large": lambda s: _result(s, content=[{"type": "text", "text": "x" * 1_048_576}]),
    "invalid_scope": lambda s: _key(s, **ACCEPTED, scopes=["files"]),
    "developer_terms_not_accepted": _key,
    "developer_terms_version_mismatch": lambda s: _key(s, **{**ACCEPTED, "developerTermsVersion": "none"}),
    "foreign_origin": lambda s: s.browser("GET", KEYS, headers={"Origin": "http://elsewhere.example"}),
    "foreign_host": lambda s: s.wire("GET", "/tools", headers={"Host": "elsewhere.example"}),
    "key_not_found": lambda s: s.browser("DELETE", f"{KEYS}/key_none"),
    "chat_not_found": lambda s: start(s, chat="chat_unknown"),
    "project_not_found": lambda s: start(s, project="proj_unknown"),
    "run_not_found": lambda s: s.wire("GET", f"/runs/{NOBODY}"),
    "not_found": lambda s: s.wire("GET", "/nothing/here"),
    "file_not_found": lambda s: s.wire("GET", "/files/download", params={"chat_id": s.wire.new_chat(), "path": "none"}),
    "upload_not_found": lambda s: start(s, file_ids=["upload_unknown"]),
    "tool_not_found": lambda s: s.wire("GET", "/tools/nothing"),
    "call_not_found": lambda s: _approval(s, "call_none", approved=True),
    "call_not_waiting": lambda s: _approval(s, approved=False),
    "job_not_found": lambda s: s.wire("GET", "/jobs/job_none", params={"chat": s.wire.new_chat()}),
    "feedback_not_found": lambda s: s.wire("GET", "/feedback/fb_none"),
    "media_not_found": lambda s: s.wire("GET", "/media/media_none"),
    "landing_page_not_found": lambda s: s.wire("GET", "/landing-pages/page_none"),
    "method_not_allowed": lambda s: s.wire("DELETE", "/runs"),
    "attachment_too_large": lambda s: _too_large(s, "/runs"),
    "request_too_large": lambda s: announced(s.service, MCP_BODY_BYTES + 1),
    "range_not_satisfiable": _range,
    "headers_too_large": lambda s: s.wire("GET", "/tools", headers={"X-Long": "x" * 70_000}),
}
