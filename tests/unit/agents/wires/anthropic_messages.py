"""Anthropic's Messages API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Form, Headers, Refused, Reply

THOUGHTFUL: Final = "_thought"
"""How the id of a call ends that came with thinking."""
ENDS: Final = {"length": "max_tokens", "filtered": "refusal", "refused": "refusal"}


class AnthropicMessages(Form):
    def takes(self, path: str) -> bool:
        return path.partition("?")[0] == "/v1/messages"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not (headers.get("x-api-key") or headers.get("authorization")) or "anthropic-version" not in headers:
            return "x-api-key and anthropic-version headers are required"
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        if forced and (body["model"].endswith("-5-5") or thinks(body)):
            return "tool_choice: forced tool use is not supported on this model, or with thinking"
        if "claude-3" in body["model"] and "format" in body.get("output_config", {}):
            return f"output_config.format: not supported on {body['model']}"
        return _wrong_messages(body)

    def error(self, reply: Reply) -> Refused:
        return Refused(reply.status, {"type": "error", **super().error(reply).document}, super().error(reply).headers)

    def framed(self, event: Event) -> bytes:
        return f"event: {event['type']}\n".encode() + super().framed(event)

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        given, made = reply.tokens(body, body["max_tokens"])
        usage: dict[str, int] = {"input_tokens": given, "output_tokens": 1}
        if reply.writes is not None:  # into the cache, which costs more
            usage |= {"input_tokens": 0, "cache_creation_input_tokens": given, "cache_read_input_tokens": 0}
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        yield {"type": "message_start", "message": about | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
        blocks = list(_blocks(reply, body))
        for place, (block, deltas) in enumerate(blocks):
            yield {"type": "content_block_start", "index": place, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": place, "delta": delta}
            if not reply.breaks_off or place < len(blocks) - 1:
                yield {"type": "content_block_stop", "index": place}
        if reply.end == "overloaded":
            yield {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        if not reply.breaks_off:
            called = any(block["type"] == "tool_use" for block, _ in blocks)
            stopped = _stopped(ENDS.get(reply.end, "tool_use" if called else "end_turn"), {"output_tokens": made})
            if reply.end == "refused":
                stopped["delta"]["stop_details"] = {"type": "refusal", "category": None, "explanation": REFUSAL}
            yield stopped
            yield {"type": "message_stop"}


def _stopped(reason: str | None, usage: dict[str, int]) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def _blocks(reply: Reply, body: Body) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The blocks of an answer, each with its deltas. An object comes in the form in which it was asked for."""
    texts, calls = reply.text, reply.calls
    if reply.answer is not None:
        if any(tool["name"] == "final_result" for tool in body.get("tools", [])):
            calls = (*calls, ("final_result", json.dumps(reply.answer)))
        else:
            texts = (*texts, json.dumps(reply.answer))
    thinking = reply.thinking if thinks(body) else ()
    if thinking:
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in thinking]
        signed = {"type": "signature_delta", "signature": signature("".join(thinking))}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if texts:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]
    for place, (name, given) in enumerate(calls):
        id = f"toolu_{len(body['messages'])}_{place}{THOUGHTFUL if thinking else ''}"
        block = {"type": "tool_use", "id": id, "name": name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": part} for part in (given[:5], given[5:])]


def thinks(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def signature(thinking: str) -> str:
    """What the API signs thinking with."""
    return hashlib.sha256(thinking.encode()).hexdigest()


def _wrong_messages(body: Body) -> str | None:
    """Each result of a tool answers a call of the message before it, and each call is answered. Thinking comes back as
    it was signed, and with each call that it came with."""
    contents = [message["content"] if isinstance(message["content"], list) else [] for message in body["messages"]]
    for before, content in zip([[], *contents], [*contents, []], strict=True):
        called = {block["id"] for block in before if block["type"] == "tool_use"}
        if called != {block["tool_use_id"] for block in content if block["type"] == "tool_result"}:
            return "messages: each tool_use block must have a tool_result block in the next message"
        thoughts = [block for block in content if block["type"] == "thinking"]
        if any(block["signature"] != signature(block["thinking"]) for block in thoughts):
            return "messages: Invalid `signature` in `thinking` block"
        needed = any(block["type"] == "tool_use" and block["id"].endswith(THOUGHTFUL) for block in content)
        if needed and thinks(body) and not thoughts:
            return "messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    return None
