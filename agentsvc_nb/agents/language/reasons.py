"""What a provider said of a fault, in one sentence: its own words, without the document that they came in."""

from __future__ import annotations

import ssl
from typing import Any, Final

from pydantic_ai.exceptions import ModelConnectionError, ModelTimeoutError
from pydantic_ai.messages import ToolReturnPart

REASON_CHARS: Final = 500


def reason(error: BaseException) -> str:
    """The reason of an error of the agent library, as the end of a sentence; with the HTTP status where there was one.

    >>> from pydantic_ai.exceptions import ModelHTTPError
    >>> reason(ModelHTTPError(404, "x", {"error": {"message": "There is no model x."}}))
    'There is no model x (404).'
    """
    said = _message(getattr(error, "body", None)) or str(error.__cause__ or "") or str(error)
    if isinstance(error, ModelConnectionError) and (below := str(getattr(error.__cause__, "__cause__", None) or "")):
        said = f"{said.rstrip('.')}: {below}"  # the libraries say "Connection error." of a certificate, too
    if isinstance(error, ModelTimeoutError):
        said = "its server was silent for too long"  # the libraries say nothing, or "Request timed out."
    status = None if getattr(error, "in_stream", False) else getattr(error, "status_code", None)
    text = " ".join(said.split())[:REASON_CHARS].rstrip(".")
    return f"{text} ({status})." if status else f"{text}."


_OF_NOBODY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's numbers of certificates whose issuer is not known here, or that are their own issuer."""
_TRUST: Final = " If it is your own, name its file in SSL_CERT_FILE, and there `agentsvc restart`."


def why_untrusted(error: BaseException) -> str | None:
    """Why a server's certificate was not accepted, in a sentence; None for an error of another kind."""
    below: BaseException | None = error
    while below is not None and not isinstance(below, ssl.SSLCertVerificationError):
        below = below.__cause__ or below.__context__
    if below is None:
        return None
    said = " ".join(below.verify_message.split())[:REASON_CHARS].rstrip(".")
    hint = _TRUST if below.verify_code in _OF_NOBODY else ""
    return f"The model's server has a certificate that is not trusted here: {said}.{hint}"


def why_malformed(part: ToolReturnPart) -> str:
    """Why a call could not be made, of what goes back to the model."""
    faults: Any = part.content
    said = "; ".join(fault["msg"] for fault in faults) if isinstance(faults, list) else str(faults)
    return " ".join(said.split())[:REASON_CHARS]


def _message(body: object) -> str | None:
    """The message in an error's document; each provider has it in another place."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else None
    inner = body.get("error", body)
    found = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return found if isinstance(found, str) else None
