"""One request of an operation, before it has an address and a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentsvc_nb.client.errors import refused
from agentsvc_nb.client.hooks import OnProgress
from agentsvc_nb.client.request import retry
from agentsvc_nb.client.request.parts import Part
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.routes import ROUTES, Resend, Route


@dataclass(frozen=True, slots=True)
class Call:
    """A row of `wire.routes`, and what goes into it. Nones in `query` and `body` are left out; an empty `key` counts
    as none. `timeout` is what the call needs when the caller gave none; `attempt` and `waited` are `Core.repeat`'s."""

    name: str
    at: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: tuple[Part, ...] | None = None
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    stream: bool = False
    resend: Resend | None = None
    on_sent: OnProgress | None = None
    attempt: int = 1
    waited: float = 0.0

    def __post_init__(self) -> None:
        if self.key and not ids.is_idempotency_key(self.key):
            raise refused("invalid_idempotency_key")

    @property
    def route(self) -> Route:
        return ROUTES[self.name]

    @property
    def path(self) -> str:
        return self.route.url(**self.at)

    @property
    def starts_work(self) -> bool:
        """Sending it twice may do its work twice."""
        return not retry.may_resend(self.resend or self.route.resend, bool(self.key))

    @property
    def resendable(self) -> bool:
        return not self.starts_work and self.rewindable

    @property
    def rewindable(self) -> bool:
        """Whether it can be sent twice; a pipe among its files cannot."""
        return all(part.rewindable for part in self.files or ())
