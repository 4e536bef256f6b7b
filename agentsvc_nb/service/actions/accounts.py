"""What an operator does with an account from the command line (contract §7)."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import accounts, usage
from agentsvc_nb.service.records.accounts import AccountRecord
from agentsvc_nb.wire.times import utc_month


@dataclass(frozen=True, slots=True)
class Standing:
    """An account with its money, in micro-cents: what the wallet was ever billed, the plan this month, and holds."""

    account: AccountRecord
    wallet: int
    plan: int
    held: int


def standing(tx: Tx, account: str, now: int) -> Standing:
    return Standing(
        accounts.get(tx, account),
        usage.of_pool(tx, account, "wallet"),
        usage.of_pool(tx, account, "plan", utc_month(now)),
        usage.held(tx, account, "wallet") + usage.held(tx, account, "plan"),
    )


def suspend(tx: Tx, account: str, until: int | None = None) -> None:
    """Refuse its requests with `user_suspended`, until `until` (ms) or `resume`."""
    accounts.set_state(tx, account, "suspended", until)


def throttle(tx: Tx, account: str, until: int | None = None) -> None:
    """Refuse its requests with `user_throttled`, until `until` (ms) or `resume`."""
    accounts.set_state(tx, account, "throttled", until)


def resume(tx: Tx, account: str) -> None:
    accounts.set_state(tx, account, "active", None)


def set_plan(tx: Tx, account: str, plan: bool) -> None:
    """Whether the account may use the Developer API at all: without the plan it is `plan_access_required`."""
    accounts.set_plan(tx, account, plan)


def reconcile(tx: Tx, account: str) -> None:
    """The operator has settled what a call without token counts cost: the wallet may be used again."""
    accounts.set_review(tx, account, None)
