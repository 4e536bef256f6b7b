"""A real mail server on loopback, and what it took."""

from __future__ import annotations

import asyncio
import contextlib
import email
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class Box:
    """It refuses who is called `nobody`, and everybody when it is `full`.

    `announced` is called when it has the recipients, `arrived` when it has the message and did not say so yet; one that
    `vanishes` never does.
    """

    def __init__(self) -> None:
        self.taken: list[Envelope] = []
        self.full = False
        self.vanishes = False
        self.announced: Callable[[], object] = _nothing
        self.arrived: Callable[[], object] = _nothing

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, _: Any) -> str:
        if address.startswith("nobody"):
            return "550 no such person"
        envelope.rcpt_tos.append(address)
        self.announced()
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.full:
            return "452 the box is full"
        self.taken.append(envelope)
        self.arrived()
        if self.vanishes and isinstance(server.transport, asyncio.WriteTransport):
            server.transport.abort()
        return "250 OK"

    def ids(self) -> list[str]:
        """The Message-ID of each message that it took."""
        return [email.message_from_bytes(one.content)["Message-ID"] for one in self.taken]  # type: ignore[arg-type]


@contextlib.contextmanager
def mail_server() -> Iterator[tuple[Box, str]]:
    """A box and its address. Whoever signs in needs the password `s3:cret`."""
    held, loop = Box(), asyncio.new_event_loop()
    make = partial(SMTP, held, authenticator=_passes, auth_require_tls=False, hostname="localhost", loop=loop)
    server = loop.run_until_complete(loop.create_server(make, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield held, f"smtp://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _nothing() -> None:
    """What happens when nothing is to happen."""


def _passes(server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any) -> AuthResult:
    right = isinstance(given, LoginPassword) and given.password == b"s3:cret"
    return AuthResult(success=right, handled=False)  # the server says so
