"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Form, Headers, Reply

INCOMPLETE: Final = {"length": "max_output_tokens", "filtered": "content_filter"}


class Responses(Form):
    def takes(self, path: str) -> bool:
        return path == "/v1/responses"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        """Of what is not stored, reasoning comes back whole."""
        if not headers.get("authorization", "").startswith("Bearer "):
            return "You didn't provide an API key."
        if body.get("store") is not False:
            return "This account keeps no request."
        reasoned = [item for item in body["input"] if item.get("type") == "reasoning"]
        if any(not item.get("encrypted_content") for item in reasoned):
            return "Items of reasoning are not persisted: send them whole."
        return None

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        given, made = reply.tokens(body, body.get("max_output_tokens"))
        usage = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # type: ignore[dict-item]
        about = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "output": []}
        about |= {"status": "in_progress", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        yield {"type": "response.created", "response": about}
        items = _items(reply, len(body["input"]))
        for place, (item, said) in enumerate(items):
            begun = item | {name: type(item[name])() for name in ("content", "arguments") if name in item}
            yield {"type": "response.output_item.added", "output_index": place, "item": begun}
            for event in said:
                yield event | {"item_id": item["id"], "output_index": place, "content_index": 0}
            if not reply.breaks_off or place < len(items) - 1:
                yield {"type": "response.output_item.done", "output_index": place, "item": item}
        if reply.end == "overloaded":
            yield {"type": "error", "code": "server_is_overloaded", "message": "Overloaded", "param": None}
        if not reply.breaks_off:
            reason = INCOMPLETE.get(reply.end)
            status = "incomplete" if reason else "completed"
            details = {"reason": reason} if reason else None
            ended = about | {"status": status, "output": [item for item, _ in items], "usage": usage}
            yield {"type": f"response.{status}", "response": ended | {"incomplete_details": details}}

    def framed(self, event: Event) -> bytes:
        return f"event: {event['type']}\n".encode() + super().framed(event | {"sequence_number": 0})


def _items(reply: Reply, turn: int) -> list[tuple[dict[str, Any], list[Event]]]:
    """The items of an answer as they are in the end, each with what is said of its content."""
    found: list[tuple[dict[str, Any], list[Event]]] = []
    if reply.thinking:
        found.append(({"id": f"rs_{turn}", "type": "reasoning", "summary": [], "encrypted_content": "secret"}, []))
    parts: list[dict[str, Any]] = []
    deltas: list[Event] = []
    if reply.text:
        parts.append({"type": "output_text", "text": "".join(reply.text), "annotations": []})
        deltas += [{"type": "response.output_text.delta", "delta": piece, "logprobs": []} for piece in reply.text]
    if reply.end == "refused":
        parts.append({"type": "refusal", "refusal": REFUSAL})
        deltas += [{"type": "response.refusal.delta", "delta": REFUSAL}]
        deltas += [{"type": "response.refusal.done", "refusal": REFUSAL}]
    if parts:
        message = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed"}
        found.append((message | {"content": parts}, deltas))
    for place, (name, arguments) in enumerate(reply.calls):
        about = {"id": f"fc_{turn}_{place}", "type": "function_call", "status": "completed"}
        about["call_id"] = f"call_{turn}_{place}"
        said = [{"type": "response.function_call_arguments.delta", "delta": arguments}]
        said.append({"type": "response.function_call_arguments.done", "arguments": arguments})
        found.append((about | {"name": name, "arguments": arguments}, [dict(event) for event in said]))
    return found
