"""Who a connector is: the document at the address that is its `client_id` (Client ID Metadata Documents)."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from agentsvc_nb.service.mcp.oauth.redirects import is_allowed
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.wire.limits import (
    KEY_NAME_CHARS,
    OAUTH_CLIENT_BYTES,
    OAUTH_CLIENT_KEPT_SECONDS,
    OAUTH_CLIENT_SECONDS,
    OAUTH_REDIRECTS_MAX,
    URL_CHARS,
)
from agentsvc_nb.wire.reading import read_json

_ID: Final = re.compile(r"https://[A-Za-z0-9.\-]+(?::[0-9]{1,5})?/[A-Za-z0-9\-._~%!$&'()*+,;=:@/?]+")
_MAX_AGE: Final = re.compile(r"max-age=\"?([0-9]{1,9})")
_KEPT_MAX: Final = 100
_KEPT_SECONDS: Final = 300
"""How long a document is kept whose server says nothing of it."""


class Unusable(Exception):
    """The connector can't be known; the message says why, for the user."""


@dataclass(frozen=True, slots=True)
class Client:
    """A connector. Its `name` is what it says of itself; its `host` is known."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]

    @property
    def host(self) -> str:
        return urlsplit(self.id).netloc


class ClientDocuments:
    """Fetches the documents, and keeps them for as long as their servers allow and an hour at most."""

    def __init__(self, fetcher: Fetcher, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[float, Client]] = {}

    async def find(self, client_id: str) -> Client:
        """The connector with this id. Raises `Unusable`."""
        check_id(client_id)
        until, known = self._kept.get(client_id, (0.0, None))
        if known is not None and self._clock() < until:
            return known
        self._kept.pop(client_id, None)
        found = await self._fetched(client_id)
        client = read(client_id, found)
        if seconds := _seconds(found):
            while len(self._kept) >= _KEPT_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[client_id] = (self._clock() + seconds, client)
        return client

    async def _fetched(self, client_id: str) -> Fetched:
        limits = {"max_bytes": OAUTH_CLIENT_BYTES, "seconds": OAUTH_CLIENT_SECONDS}
        try:
            return await self._fetcher.get(client_id, accept="application/json", follow=False, **limits)
        except WorkFailure as failure:
            raise Unusable(failure.message) from None


@functools.cache
def documents(allow: tuple[str, ...]) -> ClientDocuments:
    """The documents of this process, from public addresses and those that the operator allows."""
    return ClientDocuments(Fetcher(allow))


def check_id(client_id: str) -> None:
    """Raises `Unusable` for what is no address of such a document: https, with a path that goes down only."""
    if len(client_id) > URL_CHARS or not _ID.fullmatch(client_id):
        raise Unusable("The client_id is no https address with a path.")
    if any(unquote(part) in (".", "..") for part in urlsplit(client_id).path.split("/")):
        raise Unusable("The client_id has a path with dots.")


def read(client_id: str, found: Fetched) -> Client:
    """The connector that a fetched document describes. Raises `Unusable`."""
    if found.status != 200:
        raise Unusable(f"{client_id} was answered with HTTP {found.status}.")
    if found.media_type != "application/json" and not found.media_type.endswith("+json"):
        raise Unusable(f"{client_id} is no JSON, but {found.media_type or 'of no kind that it says'}.")
    try:
        document = read_json(found.body)
    except ValueError:
        raise Unusable(f"{client_id} is no JSON.") from None
    if not isinstance(document, dict) or document.get("client_id") != client_id:
        raise Unusable(f"{client_id} is the document of another client_id.")
    _check_methods(document)
    name, redirects = document.get("client_name"), document.get("redirect_uris")
    if not isinstance(name, str) or not name.strip() or not isinstance(redirects, list):
        raise Unusable(f"{client_id} lacks a client_name, or redirect_uris.")
    usable = [one for one in redirects[:OAUTH_REDIRECTS_MAX] if isinstance(one, str) and is_allowed(one)]
    return Client(client_id, " ".join(name.split())[:KEY_NAME_CHARS], tuple(usable))


def _check_methods(document: Mapping[str, Any]) -> None:
    """Raises `Unusable` for a connector that would sign in otherwise than is done here."""
    if document.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in document:
        raise Unusable("The connector wants to prove itself by a secret or a key, which is not offered here.")
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        offered = document.get(name, [needed])
        if not isinstance(offered, list) or needed not in offered:
            raise Unusable(f"The connector does not use the {name} {needed}.")


def _seconds(found: Fetched) -> int:
    """For how long the document may be kept."""
    said = str(found.headers.get("cache-control", "")).lower()
    if "no-store" in said or "no-cache" in said:
        return 0
    age = _MAX_AGE.search(said)
    return min(int(age[1]), OAUTH_CLIENT_KEPT_SECONDS) if age else _KEPT_SECONDS
