"""Convert errors of model calls to `WorkFailure`, a run's error: a code, and the provider's message as one sentence."""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Final

from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelTimeoutError
from pydantic_ai.messages import ModelResponse

from agentsvc_nb.agents.language.model_choice import Fault
from agentsvc_nb.agents.language.retry import ModelUnavailable
from agentsvc_nb.tools.port import WorkFailure

REASON_CHARS: Final = 500
LOST: Final = "The model's answer is incomplete, because the connection to its server ended."
_CUT: Final = (
    "The answer was cut off before it could be used, because it exceeds the model's length limit. Ask for a"
    " shorter answer."
)
_NO_FINISH_REASON: Final = frozenset({"xai"})
"""The providers whose library never returns a finish reason."""
_MALFORMED: Final = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
"""Google's finish reasons for malformed tool calls. Other providers return malformed calls unchanged."""


@contextlib.asynccontextmanager
async def translate_errors(*, structured: bool = False) -> AsyncIterator[None]:
    """Convert the library's errors in a `with` block to `WorkFailure`. Set `structured` if the answer has a schema."""
    code = "output_schema_mismatch" if structured else "model_failed"
    try:
        yield
    except exceptions.OutputTokenLimitExceeded as error:
        raise WorkFailure(code, _CUT) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise WorkFailure(code, f"The model's answer could not be used: {error_reason(error)}") from error
    except ModelAPIError as error:
        raise _to_failure(error) from error


def check_response(response: ModelResponse) -> None:
    """Raise `WorkFailure` for an answer that the provider withheld or could not finish."""
    details = response.provider_details or {}
    reason = details.get("finish_reason") or details.get("block_reason") or response.finish_reason
    if response.finish_reason == "content_filter":
        refusal = details.get("refusal") or details.get("refusal_category")
        if refusal or reason == "refusal":
            raise WorkFailure("answer_refused", f"The model refused to answer: {refusal or 'no reason given'}")
        raise WorkFailure("content_filtered", f"The provider's content filter blocked the answer: {reason}")
    # With Google's reason OTHER, the answer may be incomplete.
    is_failed = response.finish_reason == "error" or reason == "OTHER"
    if is_failed and response.text and not response.tool_calls:
        if is_malformed(response):
            raise ModelUnavailable("The model ended its answer with a tool call that could not be read.")
        raise WorkFailure("model_failed", f"The model's provider ended the answer with an error: {reason}")


def is_malformed(response: ModelResponse) -> bool:
    """Return True if the provider left out a malformed tool call at the end of the answer."""
    return (response.provider_details or {}).get("finish_reason") in _MALFORMED


def is_lost(response: ModelResponse) -> bool:
    """Return True if the stream ended without a finish reason, which means that the connection was lost.

    For OpenAI's chat completions, the library then returns `stop`, but without the provider's own reason.
    """
    if (response.provider_details or {}).get("finish_reason") or response.finish_reason not in (None, "stop"):
        return False
    return response.finish_reason is None or response.provider_name not in _NO_FINISH_REASON


_TOO_LONG: Final = re.compile(
    r"context[ _](size|length|window|limit)|too many tokens|(prompt|input) is too long|input token count", re.IGNORECASE
)
"""What servers say if a request is too long, for servers whose errors the agent library does not recognise."""


def is_too_long(error: ModelAPIError) -> bool:
    status = getattr(error, "status_code", 0)
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return status != 413  # 413 means too many bytes, not too many tokens
    return status in (400, 422) and bool(_TOO_LONG.search(error_reason(error)))


def error_reason(error: BaseException) -> str:
    """Return the reason in an error of the agent library, with the HTTP status, to put at the end of a sentence.

    >>> from pydantic_ai.exceptions import ModelHTTPError
    >>> error_reason(ModelHTTPError(404, "x", {"error": {"message": "There is no model x."}}))
    'There is no model x (404).'
    """
    said = _message(getattr(error, "body", None)) or str(error.__cause__ or "") or str(error)
    if isinstance(error, ModelConnectionError) and (below := str(getattr(error.__cause__, "__cause__", None) or "")):
        said = f"{said.rstrip('.')}: {below}"  # the libraries say only "Connection error."
    if isinstance(error, ModelTimeoutError):
        said = "its server did not respond in time"  # the libraries say nothing or only "Request timed out."
    if _is_no_json(error):
        said = "its server sent a response that is not valid JSON"
    status = None if getattr(error, "in_stream", False) else getattr(error, "status_code", None)
    text = " ".join(said.split())[:REASON_CHARS].rstrip(".")
    return f"{text} ({status})." if status else f"{text}."


_UNAVAILABLE: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
)
_RESUME: Final = " Resume the run when the provider has renewed the quota."
_KEY: Final = " Set its key (`%agentsvc model NAME --key`, or AGENTSVC_MODEL_KEY and `agentsvc restart`)."
_TRUST: Final = " If the certificate is your own, set SSL_CERT_FILE to its file and run `agentsvc restart`."
_TOO_LARGE: Final = " Attach fewer or smaller files."
_CHAT: Final = (
    " If this server does not support OpenAI's Responses API, use the model name openai-chat:{model} (Chat"
    " Completions API)."
)


def _to_failure(error: ModelAPIError) -> WorkFailure:
    """Return the error for a failed model call: `ModelUnavailable` if a retry may help, else another `WorkFailure`."""
    status = getattr(error, "status_code", 0)
    if is_quota_used_up(error):
        return WorkFailure(
            "model_unavailable", f"The model's quota or credit is used up: {error_reason(error)}{_RESUME}"
        )
    if certificate := _untrusted_certificate(error):
        said = " ".join(certificate.verify_message.split())[:REASON_CHARS].rstrip(".")
        message = f"The model's server has a certificate that is not trusted here: {said}.{_TRUST}"
        return WorkFailure("model_unavailable", message)
    if isinstance(error, _UNAVAILABLE):
        return ModelUnavailable(f"The model did not answer: {error_reason(error)}", error.retry_after)
    if _is_no_json(error) or (type(error) is ModelAPIError and error.in_stream):
        # The library does not classify errors within a stream, such as Ollama's.
        return ModelUnavailable(f"The model did not complete its answer: {error_reason(error)}")
    hint = _KEY if status in (401, 403) else _TOO_LARGE if status == 413 else ""
    if _lacks_responses(error):
        hint = _CHAT.format(model=error.model_name)
    return WorkFailure("model_refused", f"The model's server refused the call: {error_reason(error)}{hint}")


def _is_no_json(error: BaseException) -> bool:
    """Return True if a response or stream event is not valid JSON. The library has no class for such an error."""
    return type(error) is ModelAPIError and isinstance(error.__cause__, ValueError)


def _lacks_responses(error: BaseException | None) -> bool:
    """Return True if the server, for example a gateway, does not support OpenAI's Responses API."""
    if getattr(error, "status_code", 0) not in (404, 405) or not isinstance(error, ModelAPIError):
        return False
    request = getattr(error.__cause__, "request", None)
    is_of_model = error.provider_error_code == "model_not_found" or error.model_name in error_reason(error)
    return request is not None and request.url.path.endswith("/responses") and not is_of_model


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _untrusted_certificate(error: BaseException) -> ssl.SSLCertVerificationError | None:
    return next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLCertVerificationError)), None)


_SPENT: Final = re.compile(
    r"insufficient[ _](quota|balance|credit|funds)|credit[ _](balance|limit)|(all available|add \d+|more|no|of) credits"
    r"|spend(ing)?[ _]limit|usage[ _]limit|budget (has been |is )?exceeded|exceeded_current_quota"
    r"|^(?!.*RESOURCE_EXHAUSTED).*exceeded your current quota",  # Google also says this for a limit per minute
    re.IGNORECASE | re.DOTALL,
)
"""What providers and gateways say if an account has no credit."""
_PERIOD: Final = re.compile(r"(\bper|\ba|/)[ -]?(day|week|month)\b|\b(dai|week|month)ly\b", re.IGNORECASE)


def is_quota_used_up(error: ModelAPIError) -> bool:
    """Return True if the account's quota or credit is used up, so that a retry within minutes does not help."""
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return True
    if getattr(error, "status_code", 0) not in (400, 403, 429):
        return False
    said = f"{error.provider_error_code} {error.provider_error_type} {error_reason(error)}"
    is_limit = isinstance(error, exceptions.ModelRateLimitError) and error.retry_after is None
    return bool(_SPENT.search(said) or (is_limit and _PERIOD.search(said)))


def _message(body: object) -> str | None:
    """Return the message in the JSON body of an error response. The field depends on the provider."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else None
    inner = body.get("error", body)
    found = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    return found if isinstance(found, str) else None


def fault_of(failure: WorkFailure) -> Fault:
    """Return why a model did not answer a trial question, as one of the values of `Fault`."""
    error = failure.__cause__
    if isinstance(error, ModelAPIError) and is_quota_used_up(error):
        return "credit"
    status = getattr(error, "status_code", None)
    if status == 401 or (status in (400, 403) and re.search("api[ _-]?key", failure.message, re.IGNORECASE)):
        return "key"
    if status == 404 and not _lacks_responses(error):
        return "unknown"
    return "network" if isinstance(error, ModelConnectionError) and not _untrusted_certificate(error) else "other"


def host_of(failure: WorkFailure) -> str:
    """Return the host of the failed request, or "" if it is not known."""
    for error in _causes(failure):
        # The property `request` of httpx's errors raises an error if there was no request.
        with contextlib.suppress(AttributeError, RuntimeError):
            return str(error.request.url.host)  # type: ignore[attr-defined]
    return ""
