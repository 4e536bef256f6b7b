"""The records of the API, whole and plausible, and a service that answers each operation with one of them."""

import hashlib
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from tests.unit.independent.mock import PREFIX, Fault, Reply, Seen, answer, frames, problem

KEY = "svc_sk_" + "k3y" * 12
RUN = str(uuid.UUID(int=0x6F8D3F0E3F604A579D0B0D6E5A3A8C11))
OTHER_RUN = str(uuid.UUID(int=0x7A8D3F0E3F604A579D0B0D6E5A3A8C22))
CHAT = "chat_1"
NOW = "2026-03-01T12:00:00.000Z"
CONTENT = b"product,price\nlamp,12\n" * 400
FUTURE = {"a_field_of_the_future": {"deep": [1, None]}}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def run(status: str = "completed", **more: Any) -> dict[str, Any]:
    done = status in ("completed", "failed", "cancelled")
    record: dict[str, Any] = {"object": "agent_run", "run_id": RUN, "status": status, "chat": CHAT, "created_at": NOW}
    record |= {"started_at": NOW, "ended_at": NOW if done else None, "output": "Hello" if done else None}
    record |= {"structured_output": None, "last_error": None, "last_error_message": None, "steps": 1, "model": "m"}
    usage = {"input_tokens": 3, "output_tokens": 2, "cost_microcents": 7}
    return record | {"usage": usage, "app_url": None} | FUTURE | more


def event(id_: int, type_: str = "text.delta", **payload: Any) -> dict[str, Any]:
    return {"id": id_, "type": type_, "created_at": NOW, "payload": payload} | FUTURE


def story(pieces: int = 4) -> list[dict[str, Any]]:
    """The events of a run from its start to its end."""
    events = [event(1, "run.status", status="queued"), event(2, "run.status", status="running")]
    events += [event(3 + i, "text.delta", text=f"piece {i} \u2028 ä\n") for i in range(pieces)]
    events += [event(3 + pieces, "run.status", status="completed")]
    return [*events, event(4 + pieces, "run.ended", run=run())]


def file_entry(path: str = "reports/prices.csv", data: bytes = CONTENT, **more: Any) -> dict[str, Any]:
    url = f"{PREFIX}/files/download?" + urlencode({"chat_id": CHAT, "path": path})
    entry: dict[str, Any] = {"object": "workspace_file", "id": sha(data), "path": path}
    entry |= {"file_name": path.rsplit("/", 1)[-1], "name": None, "kind": "output", "media_type": "text/csv"}
    entry |= {"size_bytes": len(data), "updated_at": NOW}
    return entry | {"run_id": RUN, "output": None, "download_url": url} | FUTURE | more


def accepted(tool: str = "create_images", **more: Any) -> dict[str, Any]:
    job = {"type": "tool_job", "tool": tool, "family": "static_ad", "job_id": "job_1", "chat": CHAT, "status": "queued"}
    return job | {"recommended_poll_after_ms": 10} | FUTURE | more


def job(status: str = "succeeded", **more: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"object": "tool_job", "job_id": "job_1", "tool": "create_images", "family": "static_ad"}
    record |= {"chat": CHAT, "status": status, "is_error": status == "failed", "content": [], "data": None}
    record |= {"progress": {"done": 1, "total": 2, "message": "half"}, "recommended_poll_after_ms": 10}
    return record | {"created_at": NOW, "started_at": NOW, "ended_at": None} | FUTURE | more


def tool(name: str = "web_search") -> dict[str, Any]:
    entry: dict[str, Any] = {"object": "tool", "name": name, "description": "d", "family": name, "asynchronous": False}
    entry |= {"idempotent": False, "effect": False, "available": True}
    return entry | {"input_schema": {"type": "object"}, "output_schema": {"type": "object"}} | FUTURE


def tool_result(name: str = "web_search", **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"object": "tool_result", "tool": name, "is_error": False, "data": {"hits": []}}
    return result | {"content": [{"type": "text", "text": "found"}], "chat": CHAT} | FUTURE | more


def listing(*entries: Any, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)} | FUTURE | more


PAGE = {"object": "landing_page", "id": "page_1", "url": "https://example.com", "labels": {"tone": "dry"}, "version": 3}
LABEL = {"name": "tone", "description": "d", "values": ["dry", "playful"]}
TURN = {"answer": "Hello", "chat": CHAT, "app_url": None, "run_id": RUN, "steps": 1} | FUTURE
REPORT = {"object": "feedback", "id": "fb_1", "summary": "s", "status": "open", "reply": None, "created_at": NOW}
PROJECT = {"object": "project", "id": "proj_1", "name": "Autumn", "instructions": ""}
MEDIA = {"object": "ad_media", "id": "media_1", "kind": "video", "source": "s", "url": None, "duration_s": 2.5}
MODEL = {"object": "model", "id": "m", "default": True, "available": True, "context_tokens": 1000}
STAGED = {"object": "staged_file", "id": "upload_1", "file_name": "a.txt", "media_type": "text/plain", "size_bytes": 3}
SNIPPET = [[{"text": "a ", "match": False}, {"text": "lamp", "match": True}]]
HIT = file_entry() | {"object": "workspace_file_search_result", "match": "content", "snippets": SNIPPET}


def download(seen: Seen, data: bytes = CONTENT, **headers: str) -> Reply:
    """The bytes, or the range that was asked for."""
    tag = f'"{sha(data)}"'
    more = {"ETag": tag, "Content-Disposition": "attachment", "Content-Type": "text/csv", "Accept-Ranges": "bytes"}
    asked, condition = seen.header("range"), seen.header("if-range")
    if asked and (condition is None or condition == tag):
        first, last = asked.removeprefix("bytes=").split("-")
        begin, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
        if begin >= len(data):
            return Reply(416, b"", {**more, "Content-Range": f"bytes */{len(data)}", **headers})
        more["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
        return Reply(206, data[begin : end + 1], {**more, **headers})
    return Reply(200, data, {**more, **headers})


def stream(seen: Seen, events: list[dict[str, Any]]) -> Reply:
    after = int(seen.header("last-event-id") or seen.query.get("after") or 0)
    left = [event for event in events if event["id"] > after]
    return Reply(200, b"retry: 10\n\n" + frames(*left), {"Content-Type": "text/event-stream"})


def _events(seen: Seen) -> Reply:
    if "event-stream" in (seen.header("accept") or ""):
        return stream(seen, story())
    after, limit = int(seen.query.get("after", 0)), int(seen.query.get("limit", 500))
    left = [event for event in story() if event["id"] > after]
    page = left[:limit]
    more = {"next_after": page[-1]["id"] if page else after, "has_more": len(left) > limit, "status": "completed"}
    return answer(listing(*page, **more))


def _invoke(seen: Seen) -> Reply:
    name = seen.path.split("/")[2]
    if name == "ask_stefanbrain":
        return answer(tool_result(name, data=TURN))
    return answer(tool_result(name)) if name in ("web_search", "send_email") else answer(accepted(name), 202)


def _list_files(seen: Seen) -> Reply:
    names = ["a/1.txt", "b/2.txt", "c/3.txt"]
    left = [name for name in names if name > seen.query.get("after", "")]
    after = left[0] if len(left) > 1 else None
    entries = [file_entry(name) for name in left[:1]]
    return answer({"object": "list", "chat": CHAT, "files": entries, "next_after": after} | FUTURE)


def _listed(entry: dict[str, Any]) -> Callable[[Seen], Reply]:
    return lambda seen: answer(listing(entry, next_after=None, has_more=False))


def _approval(seen: Seen) -> Reply:
    call = {"object": "call_approval", "run_id": RUN, "call_id": "call_1", "reason": seen.json.get("reason") or ""}
    return answer(call | {"approved": seen.json["approved"]} | FUTURE)


ENTRY = {key: value for key, value in run().items() if key != "output"} | {"message": "what"}
CALL = {"object": "client_call", "run_id": RUN, "call_id": "call_1", "accepted": True}
ROUTES: dict[tuple[str, str], Callable[[Seen], Reply]] = {
    ("POST", "/runs"): lambda seen: answer(run("queued"), 202),
    ("GET", "/runs"): _listed(ENTRY),
    ("GET", f"/runs/{RUN}"): lambda seen: answer(run()),
    ("GET", f"/runs/{RUN}/events"): _events,
    ("GET", f"/runs/{RUN}/sent"): lambda seen: answer(listing()),
    ("POST", f"/runs/{RUN}/cancel"): lambda seen: answer(run("cancelled")),
    ("POST", f"/runs/{RUN}/resume"): lambda seen: answer(run("queued", run_id=OTHER_RUN, resumed_from=RUN), 202),
    ("POST", f"/runs/{RUN}/calls/call_1/approval"): _approval,
    ("POST", f"/runs/{RUN}/calls/call_1/result"): lambda seen: answer(CALL),
    ("POST", "/files"): lambda seen: answer({"object": "list", "files": [STAGED | FUTURE]}),
    ("GET", "/files"): _list_files,
    ("PATCH", "/files"): lambda seen: answer(file_entry(name=seen.json["name"])),
    ("GET", "/files/search"): lambda seen: answer({"object": "x", "chat": CHAT, "results": [HIT | FUTURE]}),
    ("GET", "/files/download"): download,
    ("GET", "/tools"): lambda seen: answer(listing(tool(), tool("create_images"))),
    ("GET", "/tools/web_search"): lambda seen: answer(tool()),
    ("POST", "/jobs"): lambda seen: answer(accepted(seen.json["tool"]), 202),
    ("GET", "/jobs"): _listed(job()),
    ("GET", "/jobs/job_1"): lambda seen: answer(job()),
    ("GET", "/jobs/job_1/result"): lambda seen: answer(job(kind="files", files=[file_entry()])),
    ("POST", "/jobs/job_1/cancel"): lambda seen: answer(job("cancelled")),
    ("POST", "/feedback"): lambda seen: answer({"object": "feedback_receipt", "id": "fb_1", "guidance": "g"}, 201),
    ("GET", "/feedback"): lambda seen: answer(listing(REPORT | FUTURE)),
    ("GET", "/feedback/fb_1"): lambda seen: answer(REPORT | FUTURE),
    ("GET", "/media/media_1"): lambda seen: answer(MEDIA | {"transcript": None} | FUTURE),
    ("POST", "/media/media_1/transcript"): lambda seen: answer(accepted("t", family="media_transcript"), 202),
    ("GET", "/landing-pages/labels"): lambda seen: answer({"object": "list", "labels": [LABEL]}),
    ("GET", "/landing-pages/page_1"): lambda seen: answer(PAGE | FUTURE),
    ("PUT", "/landing-pages/page_1/labels"): lambda seen: answer(PAGE | {"version": 4} | FUTURE),
    ("GET", "/projects"): lambda seen: answer(listing(PROJECT)),
    ("POST", "/projects"): lambda seen: answer(PROJECT | FUTURE, 201),
    ("PATCH", "/projects/proj_1"): lambda seen: answer(PROJECT | FUTURE),
    ("GET", "/models"): lambda seen: answer(listing(MODEL)),
    ("DELETE", "/chats/chat_1"): lambda seen: answer({"object": "chat", "id": CHAT, "chat": CHAT, "retired": True}),
}


def service(seen: Seen) -> Reply:
    """Answer as the API does; a request without the key is refused."""
    if seen.header("authorization") != f"Bearer {KEY}" and seen.header("x-api-key") != KEY:
        return problem(401, "unauthorized", "authentication_error")
    if seen.method == "POST" and seen.path.startswith("/tools/") and seen.path.endswith("/invoke"):
        return _invoke(seen)
    if route := ROUTES.get((seen.method, seen.path)):
        return route(seen)
    return problem(404, "not_found", "invalid_request_error")


def instead(method: str, path: str, other: Callable[[Seen], Reply | Fault]) -> Callable[[Seen], Reply | Fault]:
    """The service with another answer at one place."""
    return lambda seen: other(seen) if (seen.method, seen.path) == (method, path) else service(seen)
