"""What a user allows a connector: an authorization code, and the token that it is good for (docs/mcp.md)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.service.accounts import account_records as records
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.accounts import oauth_records as codes
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.accounts.oauth_records import CodeRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import KEY_NAME_CHARS, OAUTH_CODE_SECONDS

_KEPT_MS: Final = 24 * 3600 * 1000
"""How long a code is kept, so that a second use of it is noticed."""


class OAuthError(Exception):
    """An error as OAuth has it: a `code` of its specifications, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True)
class Consent:
    """What a user allowed: the connector of this `client_id`, for the endpoint at `resource`, with these scopes and
    monthly budget, for so long (`seconds`). The code goes to `redirect_uri`; who comes with it must know what the
    `challenge` (S256) was made of."""

    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]
    budget_cents: int | None
    seconds: int


@dataclass(frozen=True, slots=True)
class Redemption:
    """A code as a connector comes with it. None is what it need not say."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)
    client_id: str
    redirect_uri: str | None
    resources: tuple[str, ...]


async def issue_code(context: UseCaseContext, account: str, given: Consent) -> str:
    """A code for a token of what was allowed. Deletes old codes in the same transaction."""
    code, now = secrets.token_urlsafe(32), context.now
    made = CodeRecord(
        digest=accounts.digest(code),
        account=account,
        client_id=given.client_id,
        redirect_uri=given.redirect_uri,
        challenge=given.challenge,
        resource=given.resource,
        scopes=given.scopes,
        budget_cents=given.budget_cents,
        token_expires_at=now + given.seconds * 1000,
        expires_at=now + OAUTH_CODE_SECONDS * 1000,
    )

    def issue(tx: Tx) -> None:
        # A consent is the only time when codes are added, so a table of old ones cannot grow.
        codes.forget(tx, now - _KEPT_MS)
        codes.insert(tx, made)

    await context.write(issue)
    return code


async def redeem(context: UseCaseContext, given: Redemption) -> tuple[KeyRecord, str]:
    """The token that a code is good for: its key and its secret.

    Raises `OAuthError`. Whatever is wrong, a code is used up by being shown once; shown again, it also takes back the
    token that it gave, for then somebody has it who should not.
    """
    digest = accounts.digest(given.code)
    if await context.read_single(lambda tx: codes.get(tx, digest)) is None:
        raise _invalid("The code is unknown.")  # anybody may send those: nothing is written for them
    found = await context.write(lambda tx: _redeem(tx, context, digest, given))
    if isinstance(found, OAuthError):  # returned, because raising would roll back what was written
        raise found
    return found


def _redeem(tx: Tx, context: UseCaseContext, digest: str, given: Redemption) -> tuple[KeyRecord, str] | OAuthError:
    code = codes.take(tx, digest, context.now)
    if code is None:
        known = codes.get(tx, digest)
        if known is not None and known.key_id is not None:
            records.revoke_key(tx, known.key_id, context.now)
        return _invalid("The code was used before: what it gave is taken back.")
    if error := _misfit(code, given, context.now):
        return error
    key, secret = accounts.create_key(
        tx,
        context.clock,
        name=(urlsplit(code.client_id).hostname or "")[:KEY_NAME_CHARS],
        account=code.account,
        scopes=code.scopes,
        budget_cents=code.budget_cents,
        member=True,
        shared_secret=context.settings.shared_secret,
        client_id=code.client_id,
        expires_at=code.token_expires_at,
        resource=code.resource,
    )
    codes.set_key(tx, digest, key.id)
    return key, secret


def _misfit(code: CodeRecord, given: Redemption, now: int) -> OAuthError | None:
    """What is wrong with who comes with the code; None if nothing is."""
    if code.expires_at <= now:
        return _invalid(f"The code is over {OAUTH_CODE_SECONDS} seconds old.")
    if code.client_id != given.client_id:
        return _invalid("The code was given to another client.")
    if given.redirect_uri not in (None, code.redirect_uri):
        return _invalid("The code went to another redirect_uri.")
    if any(resource != code.resource for resource in given.resources):
        return OAuthError("invalid_target", "The code is for another resource.")
    if not hmac.compare_digest(challenge_of(given.verifier), code.challenge):
        return _invalid("The code_verifier is not that of the code_challenge.")
    return None


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636, whose example this is).

    >>> challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _invalid(message: str) -> OAuthError:
    return OAuthError("invalid_grant", message)
