"""What a request was let in with, and whether it still would be: keys and sessions, looked at again while it lasts."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final, Literal

from starlette.requests import Request
from starlette.types import Scope

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Database
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.usecases import accounts, money
from agentsvc_nb.service.usecases.accounts import KeyDirectory
from agentsvc_nb.service.usecases.context import UseCaseContext

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request was let in with."""

    kind: Literal["key", "session"]
    secret: str = field(repr=False)


class Access:
    """Looks at credentials again, as at the beginning of a request."""

    def __init__(self, keys: KeyDirectory, use_case: UseCaseContext) -> None:
        self._keys, self._use_case = keys, use_case

    async def refusal(self, credential: Credential) -> ApiError | None:
        """What ends a request with this credential now."""
        try:
            if credential.kind == "key":
                _, account = await self._keys.find(credential.secret)
                money.check_account(account, self._use_case.now, held=True)
            elif await accounts.find_session(self._use_case, credential.secret) is None:
                return ApiError("unauthorized", "The session has ended: sign in again.")
        except ApiError as error:
            return error
        except Exception:  # the database is busy, or closed: the next look tells
            log.warning("a credential could not be looked at", exc_info=True)
        return None

    async def check(self, request: Request) -> None:
        """Raise what ends the request now."""
        credential = credential_of(request.scope)
        if credential is not None and (error := await self.refusal(credential)):
            raise error


def remember_credential(request: Request, credential: Credential) -> None:
    """The request was let in with this."""
    request.scope["state"]["credential"] = credential


def credential_of(scope: Scope) -> Credential | None:
    found: Credential | None = scope["state"].get("credential")
    return found


class KnownKeys:
    """A `KeyDirectory`: what was found counts until something is written, by whatever process, so that a key made,
    suspended or revoked beside the running server counts at once. A refusal is not kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._version = -1
        self._asked = False
        self._found: dict[str, tuple[KeyRecord, AccountRecord]] = {}

    async def find(self, secret: str) -> tuple[KeyRecord, AccountRecord]:
        if not self._asked:
            self._ask()
        found = self._found.get(secret)
        if found is None:
            found = self._found[secret] = self._database.read(lambda tx: accounts.find_key(tx, secret))
        return found

    def _ask(self) -> None:
        version = self._database.version()  # before the look-up: what is written in between is then looked up again
        if version != self._version:
            self._version = version
            self._found.clear()
        self._asked = True
        asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._asked = False
