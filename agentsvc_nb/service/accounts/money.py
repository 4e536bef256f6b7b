"""Check limits of money before work that costs money, limit request rates, and record charges.

The wallet is an account's prepaid credit. For requests with a member token, and for MCP, the plan's monthly pool pays
instead. A hold is an amount that is reserved for active work. Amounts are in micro-cents unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.accounts import account_records, usage_records
from agentsvc_nb.service.accounts.account_records import AccountRecord, KeyRecord
from agentsvc_nb.service.accounts.usage_records import ModelUsage, Payer, Pool
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.times import local_day, local_day_end, month_end, rfc3339, utc_month
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.port import LIMIT_REACHED, WorkFailure
from agentsvc_nb.wire.limits import CENTS_MAX, HOSTED_RUN_CENTS
from agentsvc_nb.wire.runs import CENT

PER_USE: Final = {"picture": CENT, "web_search": CENT}
"""The price of one use in micro-cents, by kind of charge.

The wallet or the plan pays these charges. They do not count against a key's budget.
"""

_HIGHER: Final = (
    "Resume the run to continue. It may then cost the same amount again, or the `max_cents` that you "
    f"set. Without `max_cents`, a run on a hosted model may cost {HOSTED_RUN_CENTS} cents."
)
_CENTS_PER_MILLION = {"offline": (100, 100), "scripted": (100, 100)}


def cost_microcents(model: str, input_tokens: int, output_tokens: int) -> int:
    """Return the price, in micro-cents, of tokens that an agent without a language model used.

    Return 0 for language models, whose agents report the price themselves.

    The model `offline` costs 100 cents per million tokens, which is 100 micro-cents per token:

    >>> cost_microcents("offline", 1_000, 500)
    150000
    """
    price_in, price_out = _CENTS_PER_MILLION.get(model, (0, 0))
    return input_tokens * price_in + output_tokens * price_out


def price_per_million(model: str) -> tuple[float, float] | None:
    """Return the prices of a million input and a million output tokens, in cents, or None for a language model."""
    return _CENTS_PER_MILLION.get(model)


def price_of(charges: Mapping[str, int]) -> int:
    """Return the price of per-use charges in micro-cents. `charges` maps kinds in `PER_USE` to quantities.

    A picture costs one cent, which is a million micro-cents:

    >>> price_of({"picture": 3})
    3000000
    """
    return sum(quantity * PER_USE[kind] for kind, quantity in charges.items())


def whole_cents(microcents: int) -> int:
    """Convert micro-cents to whole cents, rounded down. Clients receive whole cents.

    >>> whole_cents(1_999_999)
    1
    """
    return microcents // CENT


MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS


def check_account(account: AccountRecord, now: int, *, held: bool = False) -> None:
    """Raise `user_suspended` or `user_throttled` for an account in that state. The error has the state's end, if known.

    Set `held` for a request that is already open, because throttling applies only to new requests.
    """
    state = account.state_at(now)
    if state == "suspended" or (state == "throttled" and not held):
        code = f"user_{state}"
        if account.state_until is None:
            raise ApiError(code)
        raise ApiError(code, headers=retry_after(account.state_until, now), reset_at=rfc3339(account.state_until))


async def count_request(context: UseCaseContext, key: KeyRecord, now: int) -> None:
    """Count a request of this key against the configured limits. Raise the error of the first limit that it exceeds."""
    settings = context.settings
    if (settings.rate_per_minute, settings.rate_per_minute_user, settings.rate_per_day) == (None, None, None):
        return

    def use(tx: Tx) -> ApiError | None:
        for code, subject, length, limit in (
            ("request_per_minute", key.id, MINUTE_MS, settings.rate_per_minute),
            ("request_per_minute_user", key.account, MINUTE_MS, settings.rate_per_minute_user),
            ("request_per_day", key.account, DAY_MS, settings.rate_per_day),
        ):
            if limit is None:
                continue
            begins = now - now % length
            observed = account_records.count_request(tx, subject, code, begins)
            if observed > limit:
                reset = begins + length
                headers = retry_after(reset, now)
                return ApiError(code, headers=headers, limit=limit, observed=observed, reset_at=rfc3339(reset))
        return None

    # `use` returns the error, because raising it there would roll back the count.
    if (refusal := await context.write(use)) is not None:
        raise refusal


def retry_after(reset: int, now: int) -> dict[str, str]:
    """Return the `Retry-After` header for the time until `reset` (ms), rounded up so that the retry succeeds."""
    return {"Retry-After": str(max(1, -(-(reset - now) // 1000)))}


@dataclass(frozen=True, slots=True)
class Bill:
    """Who pays for a run or job (account, key and pool), and the amount to hold. Implements `usage_records.Payer`."""

    account: str
    key_id: str
    pool: Pool
    hold_microcents: int = 0


def check_start(tx: Tx, key: KeyRecord, settings: Settings, now: int, charges_microcents: int = 0) -> Bill:
    """Check that the key may start work now. Return who pays for the work, and the amount to hold.

    `charges_microcents` is the most that the work's per-use charges can cost.

    Raises `day_budget_exhausted`. If the wallet pays, raises `api_wallet_reconciliation_required`,
    `api_wallet_exhausted` and `api_key_budget_exhausted`. If the plan pays, raises `monthly_usage_limit_reached`.
    """
    hold = max(settings.run_hold_cents * CENT, charges_microcents)
    bill = Bill(key.account, key.id, "plan" if key.member else "wallet", hold)
    _check_day(tx, bill, settings, now)
    if key.member:
        _check_plan_pool(tx, bill, settings.plan_pool_cents, now)
    else:
        if settings.wallet_cents is not None and account_records.get(tx, bill.account).review_since is not None:
            raise ApiError("api_wallet_reconciliation_required")
        _check_wallet(tx, bill, settings.wallet_cents)
        _check_budget(tx, bill, key, now)
    return bill


def check_more(tx: Tx, payer: Payer, settings: Settings, now: int, *, tokens: int = 0, charges: int = 0) -> None:
    """Check that active work may hold more micro-cents: `tokens` for model calls and `charges` for per-use charges.

    The caller must first reduce the work's hold to its cost so far. Raises `WorkFailure("limit_reached")`.
    """
    if not tokens + charges:
        return
    bill = Bill(payer.account, payer.key_id, payer.pool, tokens + charges)
    try:
        _check_next_hold(tx, bill, settings, now, tokens=tokens > 0)
    except ApiError as refusal:
        cost = f"The next call may cost {bill.hold_microcents / CENT:,.2f} cents."
        raise WorkFailure(LIMIT_REACHED, f"{cost} {refusal.message}") from None


def check_raise(tx: Tx, payer: Payer, settings: Settings, now: int) -> None:
    """Check that the payer can pay for a higher cost limit of an active run. Raises errors of `check_start`."""
    bill = Bill(payer.account, payer.key_id, payer.pool, settings.run_hold_cents * CENT)
    _check_next_hold(tx, bill, settings, now, tokens=True)


def _check_next_hold(tx: Tx, bill: Bill, settings: Settings, now: int, *, tokens: bool) -> None:
    """Check that the daily budget and the pool can pay the next hold.

    If the pool is the wallet and `tokens` is set, also check that the key has some of its budget left.
    """
    _check_day(tx, bill, settings, now)
    if bill.pool == "plan":
        _check_plan_pool(tx, bill, settings.plan_pool_cents, now)
        return
    _check_wallet(tx, bill, settings.wallet_cents)
    key = account_records.get_key(tx, bill.account, bill.key_id)
    # Only tokens count against a key's budget (docs/api/accounts.md "Budgets").
    if key is not None and tokens:
        _check_budget(tx, bill, key, now)


def is_near(limit: int, spent: int) -> bool:
    """Return True if at least 80 % of the limit is used.

    >>> is_near(100, 79), is_near(100, 80)
    (False, True)
    """
    return spent * 5 >= limit * 4


def suggested_cents(limit: int) -> int:
    """Return a higher cost limit, in cents, for a run that is near its `limit` (micro-cents).

    The higher limit is twice the limit, but at most `CENTS_MAX`.
    """
    return min(math.ceil(2 * limit / CENT), CENTS_MAX)


def check_run(max_microcents: int | None, spent: int, next_call: int = 0) -> None:
    """Check that a run, or a job that it submitted, can pay for the next call within its cost limit.

    Args:
        max_microcents: the limit, or None for no limit.
        spent: the cost of the work so far, in micro-cents.
        next_call: the most that the next call can cost, in micro-cents.

    Raises:
        WorkFailure: `limit_reached`.
    """
    if max_microcents is None or (spent < max_microcents and spent + next_call <= max_microcents):
        return
    told = f"The run may cost {max_microcents / CENT:,.2f} cents and has cost {spent / CENT:,.2f} so far"
    told += f". Its next call may cost {next_call / CENT:,.2f}." if next_call else "."
    raise WorkFailure(LIMIT_REACHED, f"{told} {_HIGHER}")


def bill_tokens(tx: Tx, payer: Payer, spent: ModelUsage, now: int) -> None:
    """Record the charge for model calls. A call without token counts puts the wallet under review."""
    if tokens := spent.input_tokens + spent.output_tokens:
        _bill(tx, payer, "tokens", tokens, spent.cost_microcents, now)
    if spent.uncounted and payer.pool == "wallet":
        # Its cost is unknown: block the wallet until the operator reconciles it (`agentsvc account reconcile`).
        account_records.set_review(tx, payer.account, now)


def bill_charges(tx: Tx, payer: Payer, charges: Mapping[str, int], now: int) -> None:
    """Record per-use charges. `charges` maps kinds in `PER_USE` to quantities."""
    for kind, quantity in charges.items():
        if quantity:
            _bill(tx, payer, kind, quantity, quantity * PER_USE[kind], now)


def _bill(tx: Tx, payer: Payer, kind: str, quantity: int, microcents: int, now: int) -> None:
    usage_records.add(tx, payer, utc_month(now), kind, quantity, microcents)
    usage_records.add_to_day(tx, payer.account, local_day(now), microcents)


def _check_wallet(tx: Tx, bill: Bill, credit_cents: int | None) -> None:
    """Raise `api_wallet_exhausted` if the wallet can't pay the hold. `credit_cents` None means unlimited credit."""
    if credit_cents is None:
        return
    spent = usage_records.sum_of_pool(tx, bill.account, "wallet") + usage_records.sum_holds(tx, bill.account, "wallet")
    room = credit_cents * CENT - spent
    # The wallet must have room for the whole hold. A budget or a plan only needs some money left, so that the call that
    # exceeds the limit may finish.
    if room < bill.hold_microcents or room <= 0:
        raise ApiError("api_wallet_exhausted")


@dataclass(frozen=True, slots=True)
class DayBudget:
    """An account's daily budget and its use today. Amounts are in micro-cents."""

    limit: int
    billed: int
    """The account's charges today."""
    held: int
    """The amount reserved for the account's active work."""
    ends_at: int
    """The end (ms) of the day."""

    @property
    def room(self) -> int:
        return max(self.limit - self.billed - self.held, 0)

    def is_near(self, spent: int) -> bool:
        """Return True if charges, holds and `spent` together use at least 80 % of the budget.

        `spent` is the cost of a run, in micro-cents, that is not part of `held`.
        """
        return is_near(self.limit, self.billed + self.held + spent)


def get_day_budget(tx: Tx, account: str, settings: Settings, now: int) -> DayBudget | None:
    """Return the account's daily budget and its use today, or None without a budget."""
    if settings.day_cents is None:
        return None
    billed = usage_records.sum_of_day(tx, account, local_day(now))
    return DayBudget(settings.day_cents * CENT, billed, usage_records.sum_all_holds(tx, account), local_day_end(now))


def _check_day(tx: Tx, bill: Bill, settings: Settings, now: int) -> None:
    """Raise `day_budget_exhausted` if the rest of the account's daily budget can't pay the hold."""
    today = get_day_budget(tx, bill.account, settings, now)
    if today is None or (today.room >= bill.hold_microcents and today.room > 0):
        return
    limit, billed, held = (f"{amount / CENT:,.2f}" for amount in (today.limit, today.billed, today.held))
    facts = {
        "limit_cents": today.limit / CENT,
        "billed_cents": today.billed / CENT,
        "held_cents": today.held / CENT,
        "resets_at": rfc3339(today.ends_at),
    }
    said = (
        f"The account may cost {limit} cents a day. The service billed {billed} cents today and reserved "
        f"{held} for active work."
    )
    how = f"Raise `{variable('day_cents')}` and restart the service, or wait until {facts['resets_at']}."
    raise ApiError("day_budget_exhausted", f"{said} {how}", day_budget=facts)


def _check_budget(tx: Tx, bill: Bill, key: KeyRecord, now: int) -> None:
    """Raise `api_key_budget_exhausted` if the key's token charges of this month, with the holds, use up its budget."""
    budget_cents = key.budget_cents
    if budget_cents is None:
        return
    billed = usage_records.sum_of_key_tokens(tx, bill.account, bill.key_id, bill.pool, utc_month(now))
    held = usage_records.sum_key_token_holds(tx, bill.account, bill.key_id, bill.pool)
    if billed + held >= budget_cents * CENT:
        room = "The key's active runs and jobs have reserved the rest of its monthly budget."
        facts = {
            "budget_cents": budget_cents,
            "billed_cents": whole_cents(billed),
            "held_cents": whole_cents(held),
            "resets_at": rfc3339(month_end(now)),
        }
        raise ApiError("api_key_budget_exhausted", room if billed < budget_cents * CENT else None, key_budget=facts)


def _check_plan_pool(tx: Tx, bill: Bill, pool_cents: int | None, now: int) -> None:
    """Raise `monthly_usage_limit_reached` if this month's charges to the plan, with the holds, use up the plan's pool.

    `pool_cents` None means an unlimited pool.
    """
    if pool_cents is None:
        return
    spent = usage_records.sum_of_pool(tx, bill.account, "plan", utc_month(now))
    if spent + usage_records.sum_holds(tx, bill.account, "plan") >= pool_cents * CENT:
        facts = {"limit_cents": pool_cents, "used_cents": whole_cents(spent), "resets_at": rfc3339(month_end(now))}
        raise ApiError("monthly_usage_limit_reached", plan_usage=facts)
