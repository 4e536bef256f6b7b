"""Call the JSON APIs that the operator configured: a search engine, an image model, an ad library.

Their addresses are trusted, but their responses are not: size and time are limited. Error messages never contain our
key.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.tools.port import M, WorkFailure
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options
from agentsvc_nb.wire.reading import read_json

ANSWER_BYTES: Final = 60 * MB
SECONDS: Final = 30.0
_SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Upstream:
    """An API.

    Attributes:
        name: The name of the API in error messages.
        url: The base address.
        headers: The headers of all requests. They may contain the API key.
        seconds: The maximum duration of a call.
    """

    name: str
    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS

    async def ask(self, shape: type[M], method: str, path: str, **parts: Any) -> M:
        """Send a request and return its JSON response.

        Args:
            shape: The pydantic model of the response.
            parts: Arguments for httpx: `params`, `json`, or `data` and `files`.

        Raises:
            WorkFailure: `upstream_failed`.
        """
        import httpx  # imported here, because it takes 6 MB and most services never need it

        body, found = bytearray(), None
        try:
            async with (
                asyncio.timeout(self.seconds),
                httpx.AsyncClient(headers=self.headers, timeout=None, **connection_options(self.url)) as client,
                client.stream(method, self.url + path, **parts) as answer,
            ):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > ANSWER_BYTES:
                        raise self._failed(f"sent more than {ANSWER_BYTES:,} bytes")
        except TimeoutError:
            raise self._failed(f"did not answer within {self.seconds:g} s") from None
        except NetworkSettingError as error:
            raise self._failed(f"could not be reached. {str(error).rstrip('.')}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(f"could not be reached ({type(error).__name__})") from None
        with contextlib.suppress(ValueError):
            found = read_json(bytes(body))
            if answer.status_code < 400:
                return shape.model_validate(found)
        said = _error_message(found) if answer.status_code >= 400 else "the response is not the expected JSON"
        for value in self.headers.values():
            said = said.replace(value.removeprefix("Bearer "), "...")
        raise self._failed(f"answered {answer.status_code}{': ' if said else ''}{said}")

    def _failed(self, why: str) -> WorkFailure:
        return WorkFailure("upstream_failed", f"{self.name} {why}.")


def _error_message(found: Any) -> str:
    """Return the message in an error response, from the first of the usual fields that has one, or ""."""
    for name in ("error", "message", "detail", "error_message"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    text = found if isinstance(found, str) else ""
    return " ".join(text.split())[:_SHOWN_CHARS].rstrip(".")
