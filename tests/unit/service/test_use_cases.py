"""What use cases share: keys by account and day, the order of turns, whole messages, and the rate of reports."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentsvc_nb.service.accounts import accounts, feedback
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runs import attempts, runs, standing
from agentsvc_nb.service.runs.run_records import RunEnding
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.resources import NewFeedback
from agentsvc_nb.wire.runs import NewStandingApproval
from tests.unit.service.contexts import NOW, SetClock, use_case

QUESTION = Start("hello", ChatSelector(), "scripted", NOW, idempotency_key="once")


@pytest.fixture
def context(database: DatabaseEngine) -> UseCaseContext:
    return use_case(database, NOW)


async def made(context: UseCaseContext) -> KeyRecord:
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    return key


def test_a_key_counts_for_its_account_on_its_day(context: UseCaseContext) -> None:
    clock = context.clock
    assert isinstance(clock, SetClock)

    async def begin(key: KeyRecord) -> str:
        return (await runs.start(context, key, replace(QUESTION, received_at=clock.ms))).run_id

    async def work() -> list[str]:
        key = await made(context)
        found = [await begin(key), await begin(key), await begin(replace(key, account="acct_other"))]
        clock.ms += 24 * 3_600_000
        return [*found, await begin(key)]

    first, again, other, next_day = asyncio.run(work())
    assert first == again
    assert len({first, other, next_day}) == 3


def test_a_standing_approval_ends_with_its_hour(context: UseCaseContext) -> None:
    clock = context.clock
    assert isinstance(clock, SetClock)

    async def work() -> list[bool]:
        begun = await runs.start(context, await made(context), QUESTION)
        run = await runs.find(context, begun.run_id)
        assert run is not None
        hour = NewStandingApproval(lasts="hour")
        await context.write(lambda tx: standing.add(tx, run, "send_email", hour, clock.ms))
        found = []
        for seconds in (0, 3_599, 2):
            clock.ms += 1_000 * seconds
            found.append(await context.read(lambda tx: standing.find(tx, run, "send_email", {}, clock.ms)) is not None)
        return found

    assert asyncio.run(work()) == [True, True, False]


def test_a_clock_that_is_set_back_does_not_turn_the_order_of_turns(context: UseCaseContext) -> None:
    """The last question is told all earlier ones, in their order, whatever the clock said at each."""
    clock = context.clock
    assert isinstance(clock, SetClock)

    async def work() -> tuple[list[str], list[str], list[str | None]]:
        key, chat = await made(context), None
        for hour, message in ((0, "first"), (-3, "second"), (-3, "third"), (1, "fourth"), (-9, "fifth")):
            clock.ms = NOW + hour * 3_600_000
            run = await runs.start(context, key, Start(message, ChatSelector(chat=chat), "scripted", clock.ms))
            chat = run.chat
            told = [message for _, message in await runs.list_earlier(context, run, 10)]
            claimed = await attempts.claim(context, run.run_id)
            assert claimed is not None
            await attempts.finish(context, run.run_id, claimed.attempt, RunEnding("completed"))
        assert chat is not None
        page = await chats.view(context, key.account, chat, None, "")
        listed = await chats.recent(context, key.account, None, 10)
        return told, [turn.message for turn in page.turns], [each.message for each in listed]

    told, shown, listed = asyncio.run(work())
    assert told == ["fourth", "third", "second", "first"]
    assert shown == [*told[::-1], "fifth"]
    assert listed == ["fifth"]


def test_a_message_is_kept_whole_whatever_its_characters(context: UseCaseContext) -> None:
    """SQLite's functions of texts end where one has a NUL: the agent was told nothing of what followed."""

    message = "é\0\U0001f600" * 400

    async def work() -> None:
        key = await made(context)
        run = await runs.start(context, key, Start(message, ChatSelector(), "scripted", NOW))
        assert run.message_chars == len(message)
        assert (await runs.get_inputs(context, run))[0] == message
        (listed,) = await chats.recent(context, key.account, None, 10)
        assert listed.message == message[:300]

    asyncio.run(work())


def send(database: DatabaseEngine, now: int, account: str = "acct_a") -> str:
    given = NewFeedback(summary="x")
    return asyncio.run(feedback.send(use_case(database, now), account, given)).id


@pytest.mark.rule("An account may send 60 reports an hour, then it is `feedback_rate_limited`.")
def test_the_window_rolls(database: DatabaseEngine) -> None:
    """Of 60 reports an hour (docs/api/feedback.md "Rate"): a second one in a minute waits for the oldest to end."""
    for minute in range(60):
        send(database, NOW + minute * 60_000)
    now = NOW + 59 * 60_000 + 500
    with pytest.raises(ApiError) as caught:
        send(database, now)
    fail = caught.value
    assert fail.row.code == "feedback_rate_limited"
    assert fail.headers["Retry-After"] == "60"
    assert fail.details == {"limit": 60, "observed": 60, "reset_at": rfc3339(NOW + 60 * 60_000)}
    assert send(database, NOW + 60 * 60_000).startswith("fb_")
    with pytest.raises(ApiError):
        send(database, NOW + 60 * 60_000 + 1)
