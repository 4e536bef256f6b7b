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


@contextlib.asynccontextmanager
async def translated(structured: bool) -> AsyncIterator[None]:
    """Raises `AgentFailure` and `StepsExceeded` for the library's errors. `structured`: a schema was to be met."""
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
        raise AgentFailure("model_refused", f"The model's server refused the call: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    return " ".join(str(error.__cause__ or error).split())[:REASON_CHARS]
