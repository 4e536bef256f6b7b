"""Anthropic's Messages API."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Headers, Refused, Reply, pieces
from tests.unit.agents.wires.strict import Request

TAKES_SCHEMAS: Final = re.compile(
    "claude-(fable-5|mythos-5|haiku-4-5|haiku-5|sonnet-4-[56]|sonnet-5|opus-4-[15678]|opus-5)"
)
REFUSES_FORCING: Final = re.compile("claude-((fable|mythos)-5-[12]|(opus|sonnet)-5-5)")
"""Models that choose by themselves whether they call a tool."""
STRICT: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf", "$ref"}
    | {"$defs", "title", "description", "default", "format", "minItems"}
)
"""What a schema for an answer may say; all else is a 400."""


THOUGHTFUL: Final = "_thought"
"""How the id of a call ends that came with thinking."""
PARAMETERS: Final = Request("anthropic.types.beta.message_create_params", "MessageCreateParamsStreaming")
ENDS: Final = {"length": "max_tokens", "filtered": "refusal", "refused": "refusal"}
FAULTS: Final = {
    "no_key": (401, "authentication_error", "invalid x-api-key"),
    "no_model": (404, "not_found_error", "model: {}"),
    "limited": (429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests."),
    "spent": (
        *(400, "invalid_request_error"),
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to purchase credits.",
    ),
    "too_large": (413, "request_too_large", "Request exceeds the maximum size: the prompt is too long."),
    "broken": (500, "api_error", "Internal server error"),
    "too_long": (400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
}


class AnthropicMessages:
    last = b""
    media_type = "text/event-stream; charset=utf-8"

    def takes(self, path: str) -> bool:
        return path.partition("?")[0] == "/v1/messages"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not (headers.get("x-api-key") or headers.get("authorization")) or "anthropic-version" not in headers:
            return "x-api-key and anthropic-version headers are required"
        if why := PARAMETERS.complaint(body):
            return why
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        if forced and REFUSES_FORCING.match(body["model"]):
            return "tool_choice: forced tool use is not supported on this model"
        wrong = _wrong_schema(body) or _wrong_results(body["messages"]) or _wrong_thinking(body)
        return wrong or _wrong_order(body)

    def wrong(self, why: str) -> Refused:
        return Refused(400, _error("invalid_request_error", why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        status, kind, message = FAULTS[str(reply.fault)]
        headers = () if reply.retry_after is None else (("retry-after", str(reply.retry_after)),)
        return Refused(status, _error(kind, message.format(body["model"])), headers)

    def framed(self, event: Event) -> bytes:
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        given, made = reply.tokens(body, body["max_tokens"])
        usage: dict[str, int] = {"input_tokens": given, "output_tokens": 1}
        if reply.writes is not None:  # into the cache, which costs more
            usage |= {"input_tokens": 0, "cache_creation_input_tokens": given, "cache_read_input_tokens": 0}
        about = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        yield {"type": "message_start", "message": about | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
        blocks = list(_blocks(reply, body))
        broken = reply.hangs or reply.end in ("lost", "overloaded")
        for place, (block, deltas) in enumerate(blocks):
            yield {"type": "content_block_start", "index": place, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": place, "delta": delta}
                if reply.repeats_usage:
                    yield _stopped(None, None, {"input_tokens": given, "output_tokens": made})
            if not broken or place < len(blocks) - 1:
                yield {"type": "content_block_stop", "index": place}
        if reply.end == "overloaded":
            yield {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        if not broken:
            called = any(block["type"] == "tool_use" for block, _ in blocks)
            reason = ENDS.get(reply.end, "tool_use" if called else "end_turn")
            yield _stopped(reason, REFUSAL if reply.end == "refused" else None, {"output_tokens": made})
            yield {"type": "message_stop"}


def _stopped(reason: str | None, refusal: str | None, usage: dict[str, int]) -> Event:
    stop: dict[str, Any] = {"stop_reason": reason, "stop_sequence": None}
    if refusal is not None:
        stop["stop_details"] = {"type": "refusal", "category": None, "explanation": refusal}
    return {"type": "message_delta", "delta": stop, "usage": usage}


def _blocks(reply: Reply, body: Body) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The blocks of an answer, each with its deltas. An object comes in the form in which it was asked for."""
    texts, calls = reply.text, reply.calls
    if reply.answer is not None:
        if any(tool["name"] == "final_result" for tool in body.get("tools", [])):
            calls = (*calls, ("final_result", json.dumps(reply.answer)))
        else:
            texts = (*texts, *pieces(json.dumps(reply.answer)))
    thinking = reply.thinking if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive") else ()
    if thinking:
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in thinking]
        signed = {"type": "signature_delta", "signature": signature("".join(thinking))}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if texts:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]
    for place, (name, given) in enumerate(calls):
        id = f"toolu_{len(body['messages'])}_{place}{THOUGHTFUL if thinking else ''}"
        block = {"type": "tool_use", "id": id, "name": name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": part} for part in pieces(given)]


def _error(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _wrong_order(body: Body) -> str | None:
    """What is said of messages in a wrong order, and of thinking that does not go with the rest."""
    if body["messages"][0]["role"] != "user":
        return 'messages: first message must use the "user" role'
    if body["messages"][-1]["role"] != "user":
        return "This model does not support assistant message prefill. The conversation must end with a user message."
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled" and thinking["budget_tokens"] >= body["max_tokens"]:
        return "`max_tokens` must be greater than `thinking.budget_tokens`"
    if thinking.get("type") in ("enabled", "adaptive"):
        if body.get("temperature", 1) != 1:
            return "`temperature` may only be set to 1 when thinking is enabled"
        if body.get("tool_choice", {}).get("type") in ("any", "tool"):
            return "Thinking may not be enabled when tool_choice forces tool use."
    return None


def _wrong_schema(body: Body) -> str | None:
    for place, tool in enumerate(body.get("tools", [])):
        given = tool["input_schema"]
        if given.get("type") != "object" or given.keys() & {"anyOf", "oneOf", "allOf"}:
            return f"tools.{place}.input_schema: must be an object without anyOf, oneOf or allOf at the top"
    wanted = body.get("output_config", {}).get("format")
    if wanted is None:
        return None
    if not TAKES_SCHEMAS.match(body["model"]):
        return f"output_config.format: not supported on {body['model']}"
    fault = _not_strict(wanted["schema"])
    return f"output_config.format.schema: {fault}" if fault else None


def _not_strict(schema: dict[str, Any]) -> str | None:
    if unknown := schema.keys() - STRICT:
        return f"{min(unknown)} is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "for 'object' type, 'additionalProperties' must be explicitly set to false"
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return next((fault for each in inner if (fault := _not_strict(each))), None)


def _wrong_results(messages: list[dict[str, Any]]) -> str | None:
    """Each result of a tool answers a call of the message before it, and each call is answered."""
    for before, message in zip([{"content": []}, *messages], [*messages, {"content": []}], strict=True):
        called = {block["id"] for block in _content(before) if block["type"] == "tool_use"}
        answered = {block["tool_use_id"] for block in _content(message) if block["type"] == "tool_result"}
        if called != answered:
            return "messages: each tool_use block must have a tool_result block in the next message"
    return None


def signature(thinking: str) -> str:
    """What the API signs thinking with."""
    return base64.b64encode(hashlib.sha256(thinking.encode()).digest()).decode()


def _wrong_thinking(body: Body) -> str | None:
    """Thinking comes back as it was signed, and within a turn with each call that it came with."""
    messages = body["messages"]
    begun = max((at for at, message in enumerate(messages) if _is_question(message)), default=0)
    for at, message in enumerate(messages):
        for place, block in enumerate(_content(message)):
            if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
                return f"messages.{at}.content.{place}: Invalid `signature` in `thinking` block"
        called = any(block["type"] == "tool_use" and block["id"].endswith(THOUGHTFUL) for block in _content(message))
        if at > begun and called and (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
            first = _content(message)[0]["type"]
            if first not in ("thinking", "redacted_thinking"):
                return (
                    f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
                    "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
                )
    return None


def _is_question(message: dict[str, Any]) -> bool:
    """Whether the user says it, and not a tool."""
    return message["role"] == "user" and all(block["type"] != "tool_result" for block in _content(message))


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []
