"""API keys, and the developer terms that must be accepted to create one."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from agentsvc_nb.wire.failures import Model, Request
from agentsvc_nb.wire.limits import KEY_BUDGET_CENTS_MAX, KEY_NAME_CHARS

VERSION: Final = "2026-11-21"
"""Version of the developer terms."""

TEXT: Final = (
    "This service runs on a computer of your own or of your organisation. Whoever runs it, its operator, is the other "
    "party to these terms; the authors of the software are not, and give no warranty for it.",
    "A key acts for this service's account: whoever holds it can start runs, spend the account's money, and read every "
    "chat and file. Keep it out of code, notebooks and logs, and delete it here when it may have been seen.",
    "What you send is stored in the service's data folder, unencrypted, until the operator removes it. With a language "
    "model or a tool that works over the network, parts of it are sent to that provider, under that provider's terms.",
    "An agent's answers can be wrong, and what it reads can mislead it. Check what matters before you use it.",
    "Send only what you may share, and do nothing with the service that is against the law. The operator can limit or "
    "suspend keys and the account at any time.",
)


class DeveloperTerms(Model):
    """The version that a new key must accept; people read it at `url`."""

    object: str = "developer_terms"
    version: str
    url: str | None = None


KeyScope = Literal["runs", "tools", "jobs", "mcp"]


def _line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("use printable characters, on one line")
    return text


class NewKey(Request):
    """The body of `POST /keys`. No scopes means full access, no budget no limit of the key's own."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=KEY_NAME_CHARS),
        AfterValidator(_line),
    ] = Field(description="How people tell the key from others.")
    developerTermsAccepted: bool = Field(description="Must be true.")
    developerTermsVersion: str = Field(description="The current version, as `GET /terms` says it.")
    scopes: list[KeyScope] | None = Field(default=None, description="What the key may do; none: everything.")
    monthly_budget_cents: Annotated[int, Field(ge=0, le=KEY_BUDGET_CENTS_MAX)] | None = Field(
        default=None, description="What its tokens may cost in a calendar month (UTC)."
    )


class ApiKey(Model):
    """A key as it is listed: never the secret, of which `prefix` is the beginning."""

    object: str = "api_key"
    id: str
    name: str = ""
    prefix: str = ""
    scopes: list[KeyScope | str] = Field(default_factory=list)
    monthly_budget_cents: int | None = None
    status: Literal["active", "suspended"] | str = "active"
    created_at: str | None = None


class CreatedKey(ApiKey):
    """A new key with its secret, which is shown this once and stored nowhere."""

    key: str


class KeyList(Model):
    object: str = "list"
    data: list[ApiKey] = Field(default_factory=list)


class DeletedKey(Model):
    object: str = "api_key"
    id: str
    deleted: bool = True
