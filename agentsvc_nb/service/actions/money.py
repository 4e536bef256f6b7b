"""May this key start work that costs, and what did it cost? (spec.md "Per-key budget", "429 codes"; contract §7)

A start holds a little until it ends; then what it used is billed, in the same transaction that ends it. What is held
counts as spent meanwhile, so that many starts at one moment can't pass a limit that one of them would reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import accounts, usage
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.records.usage import Payer, Pool, Spent
from agentsvc_nb.service.rules.prices import PER_USE, whole_cents
from agentsvc_nb.service.settings import Settings
from agentsvc_nb.wire.runs import CENT
from agentsvc_nb.wire.times import month_end, rfc3339, utc_month


@dataclass(frozen=True, slots=True)
class Bill:
    """Who pays for a start, and what is held for it. A `usage.Payer`."""

    account: str
    key_id: str
    pool: Pool
    hold_microcents: int = 0


def check(tx: Tx, key: KeyRecord, settings: Settings, now: int) -> Bill:
    """The key may start work now; who pays for it.

    Raises `api_wallet_exhausted`, `api_wallet_reconciliation_required`, `api_key_budget_exhausted` and, for member
    tokens, `monthly_usage_limit_reached`.
    """
    bill = Bill(key.account, key.id, "plan" if key.member else "wallet", settings.run_hold_cents * CENT)
    if key.member:
        _check_plan(tx, bill, settings.plan_pool_cents, now)
    else:
        _check_wallet(tx, bill, settings.wallet_cents)
        _check_budget(tx, bill, key.budget_cents, now)
    return bill


def charge_spent(tx: Tx, payer: Payer, spent: Spent, now: int) -> None:
    """Bill what calls of a language model took."""
    if tokens := spent.input_tokens + spent.output_tokens:
        usage.add(tx, payer, utc_month(now), "tokens", tokens, spent.cost_microcents)
    if spent.uncounted:
        _require_review(tx, payer, now)


def charge_uses(tx: Tx, payer: Payer, uses: Mapping[str, int], now: int) -> None:
    """Bill per-use prices: how many of each kind (`rules.prices.PER_USE`)."""
    for kind, quantity in uses.items():
        if quantity:
            usage.add(tx, payer, utc_month(now), kind, quantity, quantity * PER_USE[kind])


def _require_review(tx: Tx, payer: Payer, now: int) -> None:
    """A model call came without its token counts: what the wallet owes is not known until somebody looks."""
    if payer.pool == "wallet":
        accounts.set_review(tx, payer.account, now)


def _check_wallet(tx: Tx, bill: Bill, credit_cents: int | None) -> None:
    if credit_cents is None:
        return
    if accounts.get(tx, bill.account).review_since is not None:
        raise Fail("api_wallet_reconciliation_required")
    spent = usage.of_pool(tx, bill.account, "wallet") + usage.held(tx, bill.account, "wallet")
    room = credit_cents * CENT - spent
    if room < bill.hold_microcents or room <= 0:
        raise Fail("api_wallet_exhausted")


def _check_budget(tx: Tx, bill: Bill, budget_cents: int | None, now: int) -> None:
    if budget_cents is None:
        return
    billed = usage.tokens_of_key(tx, bill.account, bill.key_id, utc_month(now))
    held = usage.held_by_runs_of_key(tx, bill.account, bill.key_id)
    if billed + held >= budget_cents * CENT:
        room = "What the key's active runs hold leaves no room in its monthly budget."
        facts = {
            "budget_cents": budget_cents,
            "billed_cents": whole_cents(billed),
            "held_cents": whole_cents(held),
            "resets_at": rfc3339(month_end(now)),
        }
        raise Fail("api_key_budget_exhausted", room if billed < budget_cents * CENT else None, key_budget=facts)


def _check_plan(tx: Tx, bill: Bill, pool_cents: int | None, now: int) -> None:
    if pool_cents is None:
        return
    spent = usage.of_pool(tx, bill.account, "plan", utc_month(now))
    if spent + usage.held(tx, bill.account, "plan") >= pool_cents * CENT:
        facts = {"limit_cents": pool_cents, "used_cents": whole_cents(spent), "resets_at": rfc3339(month_end(now))}
        raise Fail("monthly_usage_limit_reached", plan_usage=facts)
