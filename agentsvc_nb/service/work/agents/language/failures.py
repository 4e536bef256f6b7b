"""What can go wrong between a run and its model, as the run's `last_error`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from pydantic_ai import exceptions

from agentsvc_nb.service.ports.agents import AgentFailure, StepsExceeded

_AWAY: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
)
REASON_CHARS: Final = 500
CUT: Final = "The answer was cut before it could be used: the model may not give a longer one at once. Ask for less."
_NO_KEY: Final = " It was asked without a key: set AGENTSVC_MODEL_KEY, and there `agentsvc restart`."


@contextlib.asynccontextmanager
async def translated(structured: bool, keyless: bool) -> AsyncIterator[None]:
    """Raises `AgentFailure` and `StepsExceeded` for the library's errors. `structured`: a schema was to be met;
    `keyless`: the model is asked without a key."""
    try:
        yield
    except exceptions.UsageLimitExceeded:
        raise StepsExceeded from None
    except exceptions.OutputTokenLimitExceeded as error:
        code = "output_schema_mismatch" if structured else "model_failed"
        raise AgentFailure(code, CUT) from error
    except exceptions.UnexpectedModelBehavior as error:
        code = "output_schema_mismatch" if structured else "model_failed"
        raise AgentFailure(code, f"The model's answer could not be used: {_reason(error)}") from error
    except _AWAY as error:
        raise AgentFailure("model_unavailable", f"The model did not answer: {_reason(error)}") from error
    except exceptions.ModelAPIError as error:
        lacking = _NO_KEY if keyless and getattr(error, "status_code", 0) in (401, 403) else ""
        said = f"The model's server refused the call: {_reason(error)}{lacking}"
        raise AgentFailure("model_refused", said) from error


def _reason(error: BaseException) -> str:
    return " ".join(str(error.__cause__ or error).split())[:REASON_CHARS]
