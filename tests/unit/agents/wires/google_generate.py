"""Google's `generateContent` of the Gemini API, streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.agents.wires.reply import Body, Event, Headers, Refused, Reply

PATH: Final = re.compile(r"/v1(?:beta)?/models/([\w.-]+):streamGenerateContent\?alt=sse")
ENDS: Final = {
    "done": "STOP",
    "length": "MAX_TOKENS",
    "filtered": "SAFETY",
    "refused": "PROHIBITED_CONTENT",
}
FAULTS: Final = {
    "no_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "no_model": (404, "NOT_FOUND", "models/{} is not found for API version v1beta"),
    "limited": (
        *(429, "RESOURCE_EXHAUSTED"),
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "spent": (
        *(429, "RESOURCE_EXHAUSTED"),
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "too_large": (413, "INVALID_ARGUMENT", "The request is too large: the input token count exceeds the limit."),
    "broken": (500, "INTERNAL", "An internal error has occurred. Please retry or report in the issue tracker."),
    "too_long": (
        *(400, "INVALID_ARGUMENT"),
        "The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).",
    ),
}


class GoogleGenerate:
    last = b""
    media_type = "text/event-stream"

    def takes(self, path: str) -> bool:
        return PATH.fullmatch(path) is not None

    def complaint(self, path: str, headers: Headers, body: Body) -> str | None:
        if not headers.get("x-goog-api-key"):
            return "Method doesn't allow unregistered callers (callers without established identity)."
        return _wrong_order(body["contents"])

    def wrong(self, why: str) -> Refused:
        return Refused(400, _error(400, "INVALID_ARGUMENT", why))

    def refused(self, reply: Reply, body: Body) -> Refused:
        status, kind, message = FAULTS[str(reply.fault)]
        details: list[dict[str, Any]] = []
        if reply.fault == "no_key":
            about = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
            details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", **about})
        if reply.fault in ("limited", "spent"):
            per = "Day" if reply.fault == "spent" else "Minute"
            violation = {"quotaId": f"GenerateRequestsPer{per}PerProjectPerModel-FreeTier", "quotaValue": "20"}
            details.append({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]})
        if reply.retry_after is not None:
            retry = {"retryDelay": f"{reply.retry_after}s"}
            details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", **retry})
        return Refused(status, _error(status, kind, message.format("any"), details))

    def framed(self, event: Event) -> bytes:
        return f"data: {json.dumps(event)}\r\n\r\n".encode()

    def events(self, reply: Reply, path: str, body: Body) -> Iterator[Event]:
        if reply.hangs and not reply.text:
            return
        named = PATH.fullmatch(path)
        about = {"modelVersion": named[1] if named else "", "responseId": f"resp_{len(body['contents'])}"}
        about |= {"usageMetadata": _usage(reply, body)} if reply.repeats_usage else {}
        parts = list(_parts(reply, body))
        for part in parts:
            yield {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **about}
        if reply.end == "overloaded":
            yield _error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
        if reply.hangs or reply.end in ("lost", "overloaded"):
            return
        malformed = any(not is_object(arguments) for _, arguments in reply.calls)
        reason = "MALFORMED_FUNCTION_CALL" if malformed else ENDS[reply.end]
        last: dict[str, Any] = {"finishReason": reason, "index": 0}
        if malformed:
            last["finishMessage"] = f"Malformed function call: {reply.calls[0][0]}({reply.calls[0][1]}"
        elif reply.end == "done":
            last["content"] = {"parts": [{"text": ""}], "role": "model"}
        yield {"candidates": [last], "usageMetadata": _usage(reply, body), **about}


def _usage(reply: Reply, body: Body) -> dict[str, int]:
    given, made = reply.tokens(body, body.get("generationConfig", {}).get("maxOutputTokens"))
    return {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}


def _parts(reply: Reply, body: Body) -> Iterator[dict[str, Any]]:
    shown = body.get("generationConfig", {}).get("thinkingConfig", {}).get("includeThoughts")
    yield from ({"text": piece, "thought": True} for piece in (reply.thinking if shown else ()))
    yield from ({"text": piece} for piece in reply.text)
    for place, (name, arguments) in enumerate(reply.calls):
        if is_object(arguments):  # Gemini says of others only how it ended
            signature = {} if place else {"thoughtSignature": "c2lnbmVk"}
            call = {"id": f"call_{len(body['contents'])}_{place}", "name": name, "args": json.loads(arguments)}
            yield {"functionCall": call, **signature}


def is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _error(status: int, kind: str, message: str, details: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"code": status, "message": message, "status": kind}
    return {"error": found | ({"details": details} if details else {})}


def _wrong_order(contents: list[dict[str, Any]]) -> str | None:
    """Each turn of calls comes after a user's turn, is signed, and has as many results right after it."""
    if not contents:
        return "* GenerateContentRequest.contents: contents is not specified"
    if contents[0].get("role") != "user":
        return "Please ensure that function call turn comes immediately after a user turn"
    for turn, following in zip(contents, [*contents[1:], {}], strict=True):
        called = [part for part in turn.get("parts", []) if "functionCall" in part]
        answered = [part for part in following.get("parts", []) if "functionResponse" in part]
        if len(called) != len(answered):
            return (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if called and "thoughtSignature" not in called[0]:
            return "Function call is missing a thought_signature in functionCall parts."
    return None
