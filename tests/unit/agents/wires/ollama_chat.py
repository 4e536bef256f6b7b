"""Ollama's form of chat completions, which has thinking, fewer fields and other errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from tests.unit.agents.wires.chat_completions import PARAMETERS, ChatCompletions, openai_error, usage
from tests.unit.agents.wires.reply import Body, Event, Headers, Refused, Reply

TAKEN: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "response_format", "stream", "stream_options", "max_tokens"}
    | {"seed", "stop", "temperature", "top_p", "frequency_penalty", "presence_penalty", "reasoning", "reasoning_effort"}
)
"""The fields of chat completions that Ollama reads (its `openai.ChatCompletionRequest`)."""
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


class OllamaChat(ChatCompletions):
    """`reply.end` is never `filtered` or `refused`: Ollama has no such ends. A call comes whole."""

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if ignored := body.keys() - TAKEN:
            return f"Ollama takes no {', '.join(sorted(ignored))}: it would be ignored."
        plain = [{name: value for name, value in each.items() if name != "reasoning"} for each in body["messages"]]
        return PARAMETERS.complaint(body | {"messages": plain})

    def refused(self, reply: Reply, body: Body) -> Refused:
        status, kind, message = FAULTS[str(reply.fault)]
        headers = () if reply.retry_after is None else (("Retry-After", str(reply.retry_after)),)
        return Refused(status, openai_error(kind, None, message.format(body["model"])), headers)

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        about |= {"usage": usage(reply, body)} if reply.repeats_usage else {}
        said = [{"role": "assistant", "content": "", "reasoning": piece} for piece in reply.thinking]
        said += [{"role": "assistant", "content": piece} for piece in reply.text]
        for place, (name, arguments) in enumerate(reply.calls):
            call = {"index": place, "id": f"call_{len(body['messages'])}_{place}", "type": "function"}
            function = {"name": name, "arguments": json.dumps(json.loads(arguments))}
            said.append({"role": "assistant", "content": "", "tool_calls": [call | {"function": function}]})  # type: ignore[dict-item]
        for delta in said:
            yield about | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if reply.end == "overloaded":
            yield openai_error("api_error", None, OVERLOADED)
        if reply.hangs or reply.end in ("lost", "overloaded"):
            return
        reason = {"done": "tool_calls" if reply.calls else "stop", "length": "length"}[reply.end]
        yield about | {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": reason}]}
        if (body.get("stream_options") or {}).get("include_usage"):
            yield about | {"choices": [], "usage": usage(reply, body)}
