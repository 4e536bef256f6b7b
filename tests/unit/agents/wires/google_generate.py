"""Google's `generateContent` of the Gemini API, streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import Body, Event, Form, Headers, Refused, Reply

PATH: Final = re.compile(r"/v1(?:beta)?/models/([\w.-]+):streamGenerateContent\?alt=sse")
ENDS: Final = {"done": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY", "refused": "PROHIBITED_CONTENT"}


class GoogleGenerate(Form):
    def takes(self, path: str) -> bool:
        return PATH.fullmatch(path) is not None

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        """Each turn of calls is signed and has as many results right after it."""
        if not headers.get("x-goog-api-key"):
            return "Method doesn't allow unregistered callers (callers without established identity)."
        contents = body["contents"]
        for turn, following in zip(contents, [*contents[1:], {}], strict=True):
            called = [part for part in turn.get("parts", []) if "functionCall" in part]
            answered = [part for part in following.get("parts", []) if "functionResponse" in part]
            if len(called) != len(answered):
                return "Please ensure that there are as many function response parts as function call parts."
            if called and "thoughtSignature" not in called[0]:
                return "Function call is missing a thought_signature in functionCall parts."
        return None

    def error(self, reply: Reply) -> Refused:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{reply.retry_after}s"}
        return refusal(reply.status, "UNKNOWN", reply.error, *([] if reply.retry_after is None else [retry]))

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        if reply.hangs and not reply.text:
            return
        config = body.get("generationConfig", {})
        given, made = reply.tokens(body, config.get("maxOutputTokens"))
        usage = {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}
        about: Event = {"modelVersion": "gemini", "responseId": f"resp_{len(body['contents'])}"}
        shown = config.get("thinkingConfig", {}).get("include_thoughts")
        for part in _parts(reply, bool(shown), len(body["contents"])):
            yield {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **about}
        if reply.end == "overloaded":
            yield refusal(503, "UNAVAILABLE", "The model is overloaded. Please try again later.").document
        if reply.breaks_off:
            return
        malformed = any(not _is_object(arguments) for _, arguments in reply.calls)
        last: dict[str, Any] = {"finishReason": ENDS[reply.end], "index": 0}
        if malformed:
            last |= {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call"}
        elif reply.end == "done":
            last["content"] = {"parts": [{"text": ""}], "role": "model"}
        yield {"candidates": [last], **about, "usageMetadata": usage}


def _parts(reply: Reply, shown: bool, turn: int) -> Iterator[dict[str, Any]]:
    yield from ({"text": piece, "thought": True} for piece in (reply.thinking if shown else ()))
    yield from ({"text": piece} for piece in reply.text)
    for place, (name, arguments) in enumerate(reply.calls):
        if _is_object(arguments):  # Gemini says of others only how it ended
            call = {"id": f"call_{turn}_{place}", "name": name, "args": json.loads(arguments)}
            yield {"functionCall": call} | ({} if place else {"thoughtSignature": "c2lnbmVk"})


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def refusal(status: int, kind: str, message: str, *details: dict[str, Any]) -> Refused:
    return Refused(status, {"error": {"code": status, "message": message, "status": kind, "details": list(details)}})
