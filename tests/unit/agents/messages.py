"""Anthropic's Messages API from the provider's side: what it refuses, and the events of an answer."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Any, Final

Body = dict[str, Any]
Event = dict[str, Any]

INPUT_TOKENS: Final = 100
OUTPUT_TOKENS: Final = 10
PIECE_CHARS: Final = 12
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


@dataclass(frozen=True)
class Reply:
    """One answer: its text in pieces, its tool calls as (name, input), or an object in the form that was asked for.
    `raw_calls` have their input as it is written; `thinking` comes first, with its signature.

    `reason` is why it stops: empty for what fits the content, None for an answer that breaks off; `refusal` is said
    with the reason `refusal`. `error`: of an error in the middle of the stream its type. `status`: it is refused.
    """

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    raw_calls: tuple[tuple[str, str], ...] = ()
    thinking: tuple[str, ...] = ()
    answer: dict[str, Any] | None = None
    reason: str | None = ""
    refusal: str | None = None
    error: str | None = None
    status: int = 200
    input_tokens: int = INPUT_TOKENS
    output_tokens: int = OUTPUT_TOKENS
    cached: bool = False
    """The input is written into the cache, which costs more."""


def schema_asked(body: Body) -> dict[str, Any] | None:
    """The JSON Schema of the answer that is asked for, in either form."""
    if (wanted := body.get("output_config", {}).get("format")) is not None:
        found: dict[str, Any] = wanted["schema"]
        return found
    form = form_tool(body)
    return form["input_schema"] if form else None


def form_tool(body: Body) -> dict[str, Any] | None:
    """The tool that is the form of an answer, as the agent library names it."""
    return next((tool for tool in body.get("tools", []) if tool["name"] == "final_result"), None)


def complaint(headers: Message, body: Body) -> tuple[int, str, str] | None:
    """Why the API does not take a request: status, type and message."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        return 401, "authentication_error", "x-api-key header is required"
    if not headers.get("anthropic-version"):
        return _invalid("anthropic-version: header is required")
    if missing := [name for name in ("model", "max_tokens", "messages") if name not in body]:
        return _invalid(f"{missing[0]}: Field required")
    forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    if forced and REFUSES_FORCING.match(body["model"]):
        return _invalid("tool_choice: forced tool use is not supported on this model")
    return _wrong_schema(body) or _wrong_results(body["messages"]) or _wrong_thinking(body)


def events(reply: Reply, body: Body) -> Iterator[Event]:
    """What is streamed for a reply, in the order of the API."""
    yield {"type": "message_start", "message": _message(body, reply)}
    blocks = list(_blocks(reply, body))
    for place, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": place, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        if reply.error is not None:
            yield {"type": "error", "error": {"type": reply.error, "message": "Overloaded"}}
            return
        if reply.reason is None and place == len(blocks) - 1:
            return
        yield {"type": "content_block_stop", "index": place}
    if reply.reason is None:
        return
    called = any(block["type"] == "tool_use" for block, _ in blocks)
    stop: dict[str, Any] = {
        "stop_reason": reply.reason or ("tool_use" if called else "end_turn"),
        "stop_sequence": None,
    }
    if reply.refusal is not None:
        stop["stop_details"] = {"type": "refusal", "category": None, "explanation": reply.refusal}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": reply.output_tokens}}
    yield {"type": "message_stop"}


def whole(reply: Reply, body: Body) -> dict[str, Any]:
    """The same at once, for who does not stream."""
    message = _message(body, reply)
    for event in events(reply, body):
        match event["type"]:
            case "content_block_start":
                message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                _add(message["content"][event["index"]], event["delta"])
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
    return message


def _message(body: Body, reply: Reply) -> dict[str, Any]:
    usage = {"input_tokens": reply.input_tokens, "output_tokens": 1}
    if reply.cached:
        usage |= {"input_tokens": 0, "cache_creation_input_tokens": reply.input_tokens, "cache_read_input_tokens": 0}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
    return {**about, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _blocks(reply: Reply, body: Body) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    pieces, calls = reply.pieces, reply.calls
    if reply.answer is not None:
        if form := form_tool(body):
            calls = (*calls, (form["name"], reply.answer))
        else:
            pieces = (*pieces, *_cut(json.dumps(reply.answer)))
    if reply.thinking:
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in reply.thinking]
        signed = {"type": "signature_delta", "signature": signature("".join(reply.thinking))}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thought, signed]
    if pieces:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    written = [*((name, json.dumps(given)) for name, given in calls), *reply.raw_calls]
    for place, (name, given) in enumerate(written):
        id = f"toolu_{len(body['messages'])}_{place}{THOUGHTFUL if reply.thinking else ''}"
        block = {"type": "tool_use", "id": id, "name": name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": part} for part in _cut(given)]


def _cut(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta["type"] == "text_delta":
        block["text"] += delta["text"]
        return
    written = block.pop("written", "") + delta["partial_json"]
    try:
        block["input"] = json.loads(written)
    except ValueError:
        block["written"] = written


def _invalid(message: str) -> tuple[int, str, str]:
    return 400, "invalid_request_error", message


def _wrong_schema(body: Body) -> tuple[int, str, str] | None:
    for place, tool in enumerate(body.get("tools", [])):
        given = tool["input_schema"]
        if given.get("type") != "object" or given.keys() & {"anyOf", "oneOf", "allOf"}:
            return _invalid(f"tools.{place}.input_schema: must be an object without anyOf, oneOf or allOf at the top")
    wanted = body.get("output_config", {}).get("format")
    if wanted is None:
        return None
    if not TAKES_SCHEMAS.match(body["model"]):
        return _invalid(f"output_config.format: not supported on {body['model']}")
    fault = _not_strict(wanted["schema"])
    return _invalid(f"output_config.format.schema: {fault}") if fault else None


def _not_strict(schema: dict[str, Any]) -> str | None:
    if unknown := schema.keys() - STRICT:
        return f"{min(unknown)} is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "for 'object' type, 'additionalProperties' must be explicitly set to false"
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if "items" in schema else []
    return next((fault for each in inner if (fault := _not_strict(each))), None)


def _wrong_results(messages: list[dict[str, Any]]) -> tuple[int, str, str] | None:
    """Each result of a tool answers a call of the message before it, and each call is answered."""
    for before, message in zip([{"content": []}, *messages], [*messages, {"content": []}], strict=True):
        called = {block["id"] for block in _content(before) if block["type"] == "tool_use"}
        answered = {block["tool_use_id"] for block in _content(message) if block["type"] == "tool_result"}
        if called != answered:
            return _invalid("messages: each tool_use block must have a tool_result block in the next message")
    return None


def signature(thinking: str) -> str:
    """What the API signs thinking with."""
    return base64.b64encode(hashlib.sha256(thinking.encode()).digest()).decode()


def _wrong_thinking(body: Body) -> tuple[int, str, str] | None:
    """Thinking comes back as it was signed, and within a turn with each call that it came with."""
    messages = body["messages"]
    begun = max((at for at, message in enumerate(messages) if _is_question(message)), default=0)
    for at, message in enumerate(messages):
        for place, block in enumerate(_content(message)):
            if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
                return _invalid(f"messages.{at}.content.{place}: Invalid `signature` in `thinking` block")
        called = any(block["type"] == "tool_use" and block["id"].endswith(THOUGHTFUL) for block in _content(message))
        if at > begun and called and (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
            first = _content(message)[0]["type"]
            if first not in ("thinking", "redacted_thinking"):
                return _invalid(
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
