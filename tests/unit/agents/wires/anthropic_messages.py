"""Anthropic's Messages API: `tests.unit.agents.messages` in the words of this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.message import Message
from typing import Final

from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming

from tests.unit.agents import messages
from tests.unit.agents.wires.reply import INPUT_TOKENS, OUTPUT_TOKENS, REFUSAL, Body, Event, Headers, Refused, Reply
from tests.unit.agents.wires.strict import Request

PARAMETERS: Final = Request(MessageCreateParamsStreaming)
ENDS: Final = {"done": "", "length": "max_tokens", "filtered": "refusal", "refused": "refusal", "lost": None}
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
        given = Message()
        for name, value in headers.items():
            given[name] = value
        if wrong := messages.complaint(given, body):
            return wrong[2]
        return PARAMETERS.complaint(body) or _wrong_order(body)

    def wrong(self, why: str) -> Refused:
        return Refused(400, _error("invalid_request_error", why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        status, kind, message = FAULTS[str(reply.fault)]
        headers = () if reply.retry_after is None else (("retry-after", str(reply.retry_after)),)
        return Refused(status, _error(kind, message.format(body["model"])), headers)

    def framed(self, event: Event) -> bytes:
        return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        shown = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        given, made = reply.tokens(body, body["max_tokens"])
        said = messages.Reply(
            input_tokens=given,
            output_tokens=made,
            cached=reply.writes is not None,
            pieces=reply.text,
            thinking=reply.thinking if shown else (),
            raw_calls=reply.calls,
            reason=None if reply.hangs else ENDS.get(reply.end, ""),
            refusal=REFUSAL if reply.end == "refused" else None,
            error="overloaded_error" if reply.end == "overloaded" else None,
        )
        for event in messages.events(said, body):
            yield event
            if reply.repeats_usage and event["type"] == "content_block_delta":
                stop = {"stop_reason": None, "stop_sequence": None}
                usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
                yield {"type": "message_delta", "delta": stop, "usage": usage}


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
