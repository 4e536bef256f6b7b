"""OpenAI's chat completions, as Ollama and servers of one's own speak them, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import REFUSAL, Body, Event, Form, Headers, Reply

ENDS: Final = {"done": "stop", "length": "length", "filtered": "content_filter", "refused": "stop"}


class ChatCompletions(Form):
    """`reply.thinking` has no place in this form."""

    last = b"data: [DONE]\n\n"

    def takes(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not headers.get("authorization", "").startswith("Bearer "):
            return "You didn't provide an API key."
        waiting: set[str] = set()
        for message in [*body["messages"], {"role": "end"}]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    return "Messages with role 'tool' must be a response to a preceding message."
                waiting.remove(message["tool_call_id"])
            elif waiting:
                return "An assistant message with 'tool_calls' must be followed by tool messages responding to each."
            else:
                waiting = {call["id"] for call in message.get("tool_calls") or []}
        return None

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        given, made = reply.tokens(body, body.get("max_completion_tokens", body.get("max_tokens")))
        usage = {"usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}}
        about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        for delta in self._deltas(reply, len(body["messages"])):
            yield about | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if reply.end == "overloaded":
            yield {"error": {"message": "The server is currently overloaded.", "type": "server_error"}}
        if reply.breaks_off:
            return
        reason = "tool_calls" if reply.calls and reply.end == "done" else ENDS[reply.end]
        yield about | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        if reply.counts and (body.get("stream_options") or {}).get("include_usage"):
            yield about | {"choices": [], **usage}

    def _deltas(self, reply: Reply, turn: int) -> Iterator[dict[str, Any]]:
        for piece in reply.text:
            yield {"role": "assistant", "content": piece}
        if reply.end == "refused":
            yield {"role": "assistant", "refusal": REFUSAL}
        for place, (name, arguments) in enumerate(reply.calls):
            about = {"index": place, "id": f"call_{turn}_{place}", "type": "function"}
            yield {"role": "assistant", "tool_calls": [about | {"function": {"name": name, "arguments": ""}}]}
            for piece in (arguments[:5], arguments[5:]):
                yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
