"""What a provider said of a fault, in one sentence: its own words, without the document that they came in; and what
that means for the run."""

from __future__ import annotations

import re
import ssl
from typing import Any, Final

from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelTimeoutError
from pydantic_ai.messages import ToolReturnPart

from agentsvc_nb.agents.language.patience import Away
from agentsvc_nb.tools.port import WorkFailure

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
    if _is_no_json(error):
        said = "its server sent something that is not JSON"
    status = None if getattr(error, "in_stream", False) else getattr(error, "status_code", None)
    text = " ".join(said.split())[:REASON_CHARS].rstrip(".")
    return f"{text} ({status})." if status else f"{text}."


_AWAY: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
)
_NO_CREDIT: Final = " Once its provider gives more, resume the run."
_NO_KEY: Final = " It was asked without a key: set AGENTSVC_MODEL_KEY, and there `agentsvc restart`."
_TOO_LARGE: Final = " Attach less, or smaller files."


_CHAT: Final = (
    " If this server does not know OpenAI's Responses, name the model openai-chat:{model} (chat completions)."
)


def failure(error: ModelAPIError, keyless: bool) -> WorkFailure:
    """Return what a failed call means for its run: `Away` for what may pass. `keyless`: it was made without a key."""
    status = getattr(error, "status_code", 0)
    if is_spent(error):
        return WorkFailure("model_unavailable", f"The model's quota or credit is used up: {reason(error)}{_NO_CREDIT}")
    if untrusted := why_untrusted(error):
        return WorkFailure("model_unavailable", untrusted)
    if isinstance(error, _AWAY):
        return Away(f"The model did not answer: {reason(error)}", error.retry_after)
    if _is_no_json(error) or (type(error) is ModelAPIError and error.in_stream):
        # Ollama sends errors in a stream that are of no kind that the library knows.
        return Away(f"The model did not answer to the end: {reason(error)}")
    hint = _NO_KEY if keyless and status in (401, 403) else _TOO_LARGE if status == 413 else ""
    if lacks_responses(error):
        hint = _CHAT.format(model=error.model_name)
    return WorkFailure("model_refused", f"The model's server refused the call: {reason(error)}{hint}")


def lacks_responses(error: BaseException | None) -> bool:
    """Whether it is a server's, such as a gateway's, that does not know OpenAI's Responses, and not the model."""
    if getattr(error, "status_code", 0) not in (404, 405) or not isinstance(error, ModelAPIError):
        return False
    asked = getattr(error.__cause__, "request", None)
    of_model = error.provider_error_code == "model_not_found" or error.model_name in reason(error)
    return asked is not None and asked.url.path.endswith("/responses") and not of_model


def _is_no_json(error: BaseException) -> bool:
    """Whether it is of a body or an event that could not be read: in all other cases the error has a kind."""
    return type(error) is ModelAPIError and isinstance(error.__cause__, ValueError)


_SPENT: Final = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|credit[ _](balance|limit)|(all available|add \d+|more|no|of) credits"
    r"|spend(ing)?[ _]limit|usage[ _]limit|budget (has been |is )?exceeded|exceeded_current_quota"
    r"|^(?!.*RESOURCE_EXHAUSTED).*exceeded your current quota",  # Google says this of its limits per minute, too
    re.IGNORECASE | re.DOTALL,
)
"""How providers and gateways say that nothing pays for a call."""
_PERIOD: Final = re.compile(r"(\bper|\ba|/)[ -]?(day|week|month)\b|\b(dai|week|month)ly\b", re.IGNORECASE)


def is_spent(error: ModelAPIError) -> bool:
    """Whether the provider says that a quota or credit is used up, which waiting does not change."""
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return True
    if getattr(error, "status_code", 0) not in (400, 403, 429):
        return False
    said = f"{error.provider_error_code} {error.provider_error_type} {reason(error)}"
    limited = isinstance(error, exceptions.ModelRateLimitError) and error.retry_after is None
    return bool(_SPENT.search(said) or (limited and _PERIOD.search(said)))


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
