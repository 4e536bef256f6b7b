"""OpenAI's Responses API."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.chat_completions import OVERLOADED, openai_error, openai_refused, wrong_function
from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Headers, Refused, Reply, pieces
from tests.unit.agents.wires.strict import Request

PARAMETERS: Final = Request("openai.types.responses.response_create_params", "ResponseCreateParamsStreaming")
INCOMPLETE: Final = {"length": "max_output_tokens", "filtered": "content_filter"}
CAME_WITH: Final = re.compile(r"_with_(rs_\d+)$")
"""How the id of a call ends that came with reasoning."""
Item = dict[str, Any]


class Responses:
    last = b""
    media_type = "text/event-stream; charset=utf-8"

    def takes(self, path: str) -> bool:
        return path == "/v1/responses"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not headers.get("authorization", "").startswith("Bearer "):
            return "You didn't provide an API key."
        return PARAMETERS.complaint(body) or _wrong_reasoning(body) or _wrong_schemas(body)

    def wrong(self, why: str) -> Refused:
        return Refused(400, openai_error("invalid_request_error", None, why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        return openai_refused(reply, body)

    def framed(self, event: Event) -> bytes:
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        for number, event in enumerate(_events(reply, body)):
            yield event | {"sequence_number": number}


def _events(reply: Reply, body: Body) -> Iterator[Event]:
    begun = _response(body, "in_progress") | ({"usage": _usage(reply, body)} if reply.repeats_usage else {})
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    items = list(_items(reply, body))
    said = [event for place, (item, parts) in enumerate(items) for event in _item_events(place, item, parts)]
    broken = reply.hangs or reply.end in ("lost", "overloaded")
    while broken and said and not said[-1]["type"].endswith(".delta"):
        said.pop()
    yield from said
    if reply.end == "overloaded":
        yield {"type": "error", "code": "server_is_overloaded", "message": OVERLOADED, "param": None}
    if not broken:
        yield _ended(reply, body, [item for item, _ in items])


def _ended(reply: Reply, body: Body, items: list[Item]) -> Event:
    reason = INCOMPLETE.get(reply.end)
    status = "incomplete" if reason else "completed"
    about = {
        "output": items,
        "usage": _usage(reply, body),
        "incomplete_details": {"reason": reason} if reason else None,
    }
    return {"type": f"response.{status}", "response": _response(body, status) | about}


def _usage(reply: Reply, body: Body) -> dict[str, Any]:
    given, made = reply.tokens(body, body.get("max_output_tokens"))
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }


def _items(reply: Reply, body: Body) -> Iterator[tuple[Item, list[Event]]]:
    """The items of an answer as they are in the end, each with what is said of its content."""
    turn = len(body["input"])
    if reply.thinking:
        yield _reasoning(reply, body, f"rs_{turn}")
    content = []
    if reply.text:
        content.append(({"type": "output_text", "text": "".join(reply.text), "annotations": []}, reply.text))
    if reply.end == "refused":
        content.append(({"type": "refusal", "refusal": REFUSAL}, tuple(pieces(REFUSAL))))
    if content:
        item = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed"}
        said = [
            event | {"content_index": place}
            for place, (part, texts) in enumerate(content)
            for event in _part_events("content", part, texts)
        ]
        yield item | {"content": [part for part, _ in content]}, said
    for place, (name, arguments) in enumerate(reply.calls):
        about = {"id": f"fc_{turn}_{place}", "type": "function_call", "status": "completed"}
        deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in pieces(arguments)]
        done = {"type": "response.function_call_arguments.done", "arguments": arguments}
        call_id = f"call_{turn}_{place}{f'_with_rs_{turn}' if reply.thinking else ''}"
        yield about | {"call_id": call_id, "name": name, "arguments": arguments}, [*deltas, done]


def _reasoning(reply: Reply, body: Body, id: str) -> tuple[Item, list[Event]]:
    """What was thought: its content only for who asks for it encrypted, and a summary only for who asks for that."""
    item: Item = {"id": id, "type": "reasoning", "summary": []}
    if "reasoning.encrypted_content" in (body.get("include") or ()):
        item["encrypted_content"] = secret(id)
    if not (body.get("reasoning") or {}).get("summary"):
        return item, []
    part = {"type": "summary_text", "text": "".join(reply.thinking)}
    return item | {"summary": [part]}, _part_events("reasoning_summary", part, reply.thinking)


def secret(id: str) -> str:
    """The encrypted content of an item of reasoning."""
    return base64.b64encode(f"secret of {id}".encode()).decode()


def _item_events(place: int, item: Item, parts: list[Event]) -> Iterator[Event]:
    begun: Item = item | {name: type(item[name])() for name in ("content", "arguments", "summary") if name in item}
    if "status" in item:
        begun["status"] = "in_progress"
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    yield from (event | {"item_id": item["id"], "output_index": place} for event in parts)
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _part_events(of: str, part: dict[str, Any], texts: tuple[str, ...]) -> list[Event]:
    """What is said of a part of a message (`of` content) or of a summary of reasoning."""
    field = "refusal" if part["type"] == "refusal" else "text"
    name: str = part["type"]
    more: Event = {"logprobs": []} if part["type"] == "output_text" else {}
    if of == "reasoning_summary":
        name, more = "reasoning_summary_text", {"summary_index": 0}
    place = {"summary_index": 0} if of == "reasoning_summary" else {}
    return [
        {"type": f"response.{of}_part.added", "part": part | {field: ""}, **place},
        *({"type": f"response.{name}.delta", "delta": piece, **more} for piece in texts),
        {"type": f"response.{name}.done", field: part[field], **more},
        {"type": f"response.{of}_part.done", "part": part, **place},
    ]


def _response(body: Body, status: str) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": body["model"],
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _wrong_reasoning(body: Body) -> str | None:
    """Reasoning comes back as it was, and before each call that it came with."""
    here: set[str] = set()  # of one answer
    for item in body["input"] if isinstance(body["input"], list) else ():
        if item.get("type") == "reasoning":
            here.add(item["id"])
            held = item.get("encrypted_content")
            if not held and body.get("store") is False:
                return f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
            if held and held != secret(item["id"]):
                return f"The encrypted content for item {item['id']} could not be verified."
        elif item.get("type") == "function_call":
            came_with = CAME_WITH.search(item["call_id"])
            if came_with is not None and came_with[1] not in here:
                named = item.get("id", item["call_id"])
                return (
                    f"Item '{named}' of type 'function_call' was provided without its required 'reasoning' item: "
                    f"'{came_with[1]}'."
                )
        elif item.get("role") != "assistant":
            here.clear()
    return None


def _wrong_schemas(body: Body) -> str | None:
    for tool in body.get("tools") or []:
        if why := wrong_function(tool["name"], tool.get("parameters"), tool.get("strict")):
            return why
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") != "json_schema":
        return None
    return wrong_function(form["name"], form["schema"], form.get("strict"))
