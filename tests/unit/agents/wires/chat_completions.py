"""OpenAI's chat completions, as servers of one's own speak them, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import NAME, REFUSAL, Body, Event, Headers, Refused, Reply
from tests.unit.agents.wires.strict import Request

PARAMETERS: Final = Request("openai.types.chat.completion_create_params", "CompletionCreateParamsStreaming")
ENDS: Final = {"done": "stop", "length": "length", "filtered": "content_filter", "refused": "stop"}
OVERLOADED: Final = "The server is currently overloaded. Please try again later."
FAULTS: Final[dict[str, tuple[int, str, str | None, str]]] = {
    "no_key": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: any."),
    "no_model": (404, "invalid_request_error", "model_not_found", "The model `{}` does not exist."),
    "limited": (429, "requests", "rate_limit_exceeded", "Rate limit reached for {}. Please try again later."),
    "spent": (
        *(429, "insufficient_quota", "insufficient_quota"),
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "too_large": (413, "invalid_request_error", None, "Request body is too large: too many tokens."),
    "broken": (500, "server_error", None, "The server had an error while processing your request."),
    "too_long": (
        *(400, "invalid_request_error", "context_length_exceeded"),
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
}


class ChatCompletions:
    """`reply.thinking` has no place in this form: OpenAI keeps it to itself there."""

    last = b"data: [DONE]\n\n"
    media_type = "text/event-stream; charset=utf-8"

    def takes(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not headers.get("authorization", "").startswith("Bearer "):
            return "You didn't provide an API key."
        return PARAMETERS.complaint(body) or wrong_results(body["messages"]) or wrong_schemas(body)

    def wrong(self, why: str) -> Refused:
        return Refused(400, openai_error("invalid_request_error", None, why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        return openai_refused(reply, body)

    def framed(self, event: Event) -> bytes:
        return f"data: {json.dumps(event)}\n\n".encode()

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        about |= {"usage": usage(reply, body)} if reply.repeats_usage else {}
        for delta in deltas(reply, body):
            yield about | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if reply.end == "overloaded":
            yield openai_error("server_error", "server_is_overloaded", OVERLOADED)
        if reply.hangs or reply.end in ("overloaded", "lost"):
            return
        reason = "tool_calls" if reply.calls and reply.end == "done" else ENDS[reply.end]
        yield about | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        if (body.get("stream_options") or {}).get("include_usage"):
            yield about | {"choices": [], "usage": usage(reply, body)}


def usage(reply: Reply, body: Body) -> dict[str, int]:
    given, made = reply.tokens(body, body.get("max_completion_tokens", body.get("max_tokens")))
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def deltas(reply: Reply, body: Body) -> Iterator[dict[str, Any]]:
    if reply.text or reply.calls or reply.end == "refused":
        yield {"role": "assistant", "content": ""}
    for piece in reply.text:
        yield {"content": piece}
    if reply.end == "refused":
        yield {"refusal": REFUSAL}
    for place, (name, arguments) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        about = {"index": place, "id": f"call_{len(body['messages'])}_{place}", "type": "function"}
        yield {"tool_calls": [about | {"function": function}]}
        for piece in (arguments[:5], arguments[5:]):
            yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}


def openai_error(kind: str, code: str | None, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def openai_refused(reply: Reply, body: Body) -> Refused:
    status, kind, code, message = FAULTS[str(reply.fault)]
    headers = () if reply.retry_after is None else (("Retry-After", str(reply.retry_after)),)
    return Refused(status, openai_error(kind, code, message.format(body["model"])), headers)


def wrong_results(messages: list[dict[str, Any]]) -> str | None:
    """Each call is answered right after the message that has it, and nothing else is an answer."""
    waiting: set[str] = set()
    for place, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"messages.{place}: messages with role 'tool' must be a response to a preceding message"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        else:
            waiting = {call["id"] for call in message.get("tool_calls") or []}
    return None


def wrong_schemas(body: Body) -> str | None:
    for tool in body.get("tools") or []:
        function = tool["function"]
        if why := wrong_function(function["name"], function.get("parameters"), function.get("strict")):
            return why
    form = body.get("response_format") or {}
    if form.get("type") != "json_schema":
        return None
    given = form["json_schema"]
    return wrong_function(given["name"], given["schema"], given.get("strict"))


def wrong_function(name: str, schema: dict[str, Any] | None, strict: bool | None) -> str | None:
    """What OpenAI says of the schema of a function or of an answer."""
    if not NAME.fullmatch(name):
        return f"Invalid name: {name!r}: string does not match pattern '^[a-zA-Z0-9_-]+$'."
    if schema is not None and schema.get("type") != "object":
        return f"Invalid schema for {name!r}: schema must be a JSON Schema of 'type: \"object\"'"
    return _not_strict(schema, name) if strict and schema is not None else None


NOT_STRICT: Final = frozenset(
    {"allOf", "oneOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "patternProperties"}
    | {"unevaluatedProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedItems", "contains"}
    | {"minContains", "maxContains", "uniqueItems"}
)
"""Keywords that OpenAI's strict schemas do not have."""


def _not_strict(schema: Any, at: str) -> str | None:
    if not isinstance(schema, dict):
        return None
    if found := schema.keys() & NOT_STRICT:
        return f"Invalid schema for {at!r}: '{min(found)}' is not permitted."
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"Invalid schema for {at!r}: 'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("properties", {})) != set(schema.get("required", [])):
            return f"Invalid schema for {at!r}: 'required' must include every key in properties."
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    found_faults = (_not_strict(each, at) for each in [*inner, schema.get("items")])
    return next((fault for fault in found_faults if fault), None)
