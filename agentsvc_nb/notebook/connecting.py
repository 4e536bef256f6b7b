"""Which service the notebook uses: say it, change it."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.session import EMBEDDED, Session

LOCAL: Final = "local"
KNOCK_SECONDS: Final = 3.0
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def connect(session: Session, url: str) -> str:
    """Use the service at `url`, or with `local` the embedded one, from now on (contract.md §8).

    Raises `AskError` for no address, or when nothing answers there; the connection then stays as it was.
    """
    if url == LOCAL:
        session.connect(EMBEDDED)
    else:
        address = service_address(url)
        _knock(address)
        session.connect(address)
    return status(session)


def status(session: Session) -> str:
    """Which service, key, chat and journal are in use, in words; sends nothing and names no secret."""
    chat = session.known_chat(session.address()) or "none yet; the first ask begins one"
    journal = (
        session.journal.warning
        or f"{len(session.journal.runs(session.notebook or session.label))} runs of this notebook"
    )
    lines = [f"service  {_service(session)}", f"chat     {chat}", f"journal  {journal}"]
    return "\n".join([*lines, *session.take_notes()])


def _service(session: Session) -> str:
    if undecided := session.undecided():
        return f"{undecided} {undecided.hint}"
    named, key = session.base_url != EMBEDDED, session.environ.get("SERVICE_API_KEY")
    service = session.base_url if named else "the embedded service of this machine"
    if not key:
        return f"{service} (no SERVICE_API_KEY)"
    return f"{service} (SERVICE_API_KEY is set{'' if named else ', for another service'})"


def service_address(url: str) -> str:
    """The address without a slash at its end. Raises `AskError` for what is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AskError(
            f"{url!r} is no address of a service.", "Give one like https://agents.example.com, or `local` for your own."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AskError("The address must not carry a password or a query.", "The key comes from SERVICE_API_KEY.")
    return url.rstrip("/")


def _knock(address: str) -> None:
    """Whether anything answers there, whatever it says. No key goes along: it may be the wrong place."""
    # A proxy cannot reach this machine's loopback, whatever HTTP_PROXY says.
    direct = [urllib.request.ProxyHandler({})] if urlsplit(address).hostname in _LOOPBACK else []
    try:
        urllib.request.build_opener(_Stay, *direct).open(f"{address}/healthz", timeout=KNOCK_SECONDS).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise AskError(
            f"Nothing answers at {address} ({why}); the connection is left as it was.",
            "Check the address; `%agentsvc connect local` takes the embedded service.",
        ) from None


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
