"""Ollama's chat: its own form (`/api/chat`), and the one that it makes of it for who speaks chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ollama._types import ChatRequest

from tests.unit.agents.wires import chat_completions
from tests.unit.agents.wires.reply import Body, Event, Headers, Refused, Reply
from tests.unit.agents.wires.strict import Request

PARAMETERS: Final = Request(ChatRequest)
OPENAI: Final = chat_completions.PARAMETERS
TAKEN: Final = (
    *("model", "messages", "tools", "tool_choice", "response_format", "stream", "stream_options", "max_tokens"),
    *("seed", "stop", "temperature", "top_p", "frequency_penalty", "presence_penalty", "reasoning", "reasoning_effort"),
)
"""The fields of chat completions that Ollama reads (its `openai.ChatCompletionRequest`)."""
DURATIONS: Final = {"total_duration": 5, "load_duration": 1, "prompt_eval_duration": 2, "eval_duration": 2}
OVERLOADED: Final = "model runner has unexpectedly stopped, this may be due to resource limitations"
FAULTS: Final = {
    "no_key": (401, "authentication_error", "unauthorized"),
    "no_model": (404, "not_found_error", "model '{}' not found"),
    "limited": (429, "rate_limit_error", "too many requests"),
    "spent": (402, "api_error", "you've reached your weekly usage limit, upgrade to continue"),
    "too_large": (413, "invalid_request_error", "http: request body too large: the prompt is too long"),
    "broken": (500, "api_error", "llama runner process has terminated: exit status 2"),
    "too_long": (
        *(400, "invalid_request_error"),
        "prompt too long; exceeded max context length by 809 tokens: maximum context length is 8192",
    ),
}


class OllamaChat:
    """`reply.end` is never `filtered` or `refused`: Ollama has no such ends."""

    last = b""
    media_type = "text/event-stream"

    def takes(self, path: str) -> bool:
        return path in ("/v1/chat/completions", "/api/chat")

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if path == "/api/chat":
            return PARAMETERS.complaint(body)
        known = body | {"messages": [_of_openai(message) for message in body["messages"]]}
        if ignored := known.keys() - set(TAKEN):
            return f"Ollama takes no {', '.join(sorted(ignored))}: it would be ignored."
        return OPENAI.complaint(known) or PARAMETERS.complaint(native_request(body))

    def wrong(self, why: str) -> Refused:
        return Refused(400, _error("invalid_request_error", why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        status, kind, message = FAULTS[str(reply.fault)]
        headers = () if reply.retry_after is None else (("Retry-After", str(reply.retry_after)),)
        return Refused(status, _error(kind, message.format(body["model"])), headers)

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        native = native_events(reply, body)
        repeated: Event = {"usage": chat_completions.usage(reply, body)} if reply.repeats_usage else {}
        yield from native if path == "/api/chat" else (event | repeated for event in _completions(native, body))

    def framed(self, event: Event) -> bytes:
        if event.get("object") == "chat.completion.chunk" or "error" in event:
            return f"data: {json.dumps(event)}\n\n".encode()
        if event == DONE:
            return b"data: [DONE]\n\n"
        return f"{json.dumps(event)}\n".encode()


DONE: Final[Event] = {"done": "[DONE]"}


def native_events(reply: Reply, body: Body) -> Iterator[Event]:
    """The lines of `/api/chat`. A call comes whole, its arguments an object; what is none stays text."""
    about = {"model": body["model"], "created_at": "2026-11-23T09:00:00.000000Z", "done": False}
    for piece in reply.thinking if body.get("think", True) else ():
        yield about | {"message": {"role": "assistant", "content": "", "thinking": piece}}
    for piece in reply.text:
        yield about | {"message": {"role": "assistant", "content": piece}}
    for name, arguments in reply.calls:
        yield about | {"message": {"role": "assistant", "content": "", "tool_calls": [_call(name, arguments)]}}
    if reply.end == "overloaded":
        yield {"error": OVERLOADED}
    if reply.hangs or reply.end in ("lost", "overloaded"):
        return
    reason = {"done": "stop", "length": "length"}[reply.end]
    end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    given, made = reply.tokens(body, body.get("max_tokens"))
    yield about | end | DURATIONS | {"prompt_eval_count": given, "eval_count": made}


def _call(name: str, arguments: str) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": json.loads(arguments)}}


def _completions(native: Iterator[Event], body: Body) -> Iterator[Event]:
    """What Ollama makes of its own events (its `openai.ToChunk`)."""
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    about["system_fingerprint"] = "fp_ollama"
    called = 0
    for event in native:
        if "error" in event:
            yield _error("api_error", event["error"])
            return
        message, delta = event["message"], {"role": "assistant", "content": event["message"]["content"]}
        if "thinking" in message:
            delta["reasoning"] = message["thinking"]
        for call in message.get("tool_calls", []):
            function = {"name": call["function"]["name"], "arguments": json.dumps(call["function"]["arguments"])}
            place = {"index": called, "id": f"call_{len(body['messages'])}_{called}", "type": "function"}
            delta["tool_calls"] = [place | {"function": function}]
            called += 1
        reason = (
            ("tool_calls" if called and event["done_reason"] == "stop" else event["done_reason"])
            if event["done"]
            else None
        )
        yield about | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        if event["done"]:
            if (body.get("stream_options") or {}).get("include_usage"):
                yield about | {"choices": [], "usage": _usage(event)}
            yield DONE


def _usage(event: Event) -> dict[str, int]:
    given, made = event["prompt_eval_count"], event["eval_count"]
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def native_request(body: Body) -> Body:
    """The request of `/api/chat` that Ollama makes of one of chat completions (its `openai.FromChatRequest`)."""
    options = {"num_predict": body.get("max_tokens")}
    found: Body = {"model": body["model"], "messages": [_native(each) for each in body["messages"]], "options": options}
    if form := body.get("response_format"):
        found["format"] = form["json_schema"]["schema"] if form["type"] == "json_schema" else "json"
    return found | {name: body[name] for name in ("tools", "stream") if name in body}


def _of_openai(message: dict[str, Any]) -> dict[str, Any]:
    """Without `reasoning`, which Ollama has and OpenAI has not."""
    return {name: value for name, value in message.items() if name != "reasoning"}


def _native(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content") or ""
    found: dict[str, Any] = {"role": message["role"], "content": content}
    if isinstance(content, list):
        found["content"] = "\n".join(part["text"] for part in content if part["type"] == "text")
        urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        found["images"] = [url.partition(";base64,")[2] for url in urls]
    if "reasoning" in message:
        found["thinking"] = message["reasoning"]
    if calls := message.get("tool_calls"):
        found["tool_calls"] = [_call(call["function"]["name"], call["function"]["arguments"]) for call in calls]
    return found


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
