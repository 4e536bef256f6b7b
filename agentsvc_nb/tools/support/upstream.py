"""JSON client for services that the operator configured: a search engine, an image model, an ad library.

The address is trusted, the answers are not: size and time are limited, and our key is removed from error messages.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options
from agentsvc_nb.wire.reading import read_json

ANSWER_BYTES: Final = 60 * MB
SECONDS: Final = 30.0
_SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Upstream:
    """A service at a base address. `name` is for error messages; `headers` may hold its key; `seconds` limit a call."""

    name: str
    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS

    async def get(self, path: str, **params: str | int) -> Any:
        """The JSON answer to a GET. Raises `WorkFailure("upstream_failed")`."""
        return await self._ask("GET", path, params=params)

    async def post(self, path: str, **parts: Any) -> Any:
        """The JSON answer to a POST; `parts` as httpx takes them: `json`, or `data` and `files`. Raises as `get`."""
        return await self._ask("POST", path, **parts)

    async def _ask(self, method: str, path: str, **parts: Any) -> Any:
        import httpx  # 6 MB that most services never need

        try:
            async with asyncio.timeout(self.seconds):
                status, body = await self._sent(method, path, parts)
        except TimeoutError:
            raise self._failed(f"did not answer within {self.seconds:g} s") from None
        except NetworkSettingError as error:
            raise WorkFailure("upstream_failed", f"{self.name} can't be reached. {error}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(f"can't be reached ({type(error).__name__})") from None
        try:
            found = read_json(body)
        except ValueError:
            found = None
        if status >= 400 or found is None:
            said = _said(found) or ("what is no JSON" if status < 400 else "")
            raise self._failed(f"answered {status}{': ' if said else ''}{self._without_key(said)}")
        return found

    async def _sent(self, method: str, path: str, parts: dict[str, Any]) -> tuple[int, bytes]:
        import httpx

        body = bytearray()
        async with (
            httpx.AsyncClient(headers=self.headers, timeout=None, **connection_options(self.url)) as client,
            client.stream(method, self.url + path, **parts) as answer,
        ):
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > ANSWER_BYTES:
                    raise self._failed(f"answered with more than {ANSWER_BYTES:,} bytes")
        return answer.status_code, bytes(body)

    def _without_key(self, text: str) -> str:
        for value in self.headers.values():
            text = text.replace(value.removeprefix("Bearer "), "...")
        return text

    def _failed(self, why: str) -> WorkFailure:
        return WorkFailure("upstream_failed", f"{self.name} {why}.")


def _said(found: Any) -> str:
    """The message in an error's answer, in any of the places where services put it; empty when there is none."""
    for name in ("error", "message", "detail", "error_message"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    text = found if isinstance(found, str) else ""
    return " ".join(text.split())[:_SHOWN_CHARS].rstrip(".")
