"""`map`: a question over the rows of a DataFrame, by both faces, against a real service."""

from __future__ import annotations

import asyncio
import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, field_validator

from agentsvc_nb import AgentService, AsyncAgentService, MapProgress, MapStopped
from agentsvc_nb.client import waiting
from agentsvc_nb.client.errors import APIConnectionError, RateLimitError, StefanBrainError
from agentsvc_nb.client.options import RetryNotice
from agentsvc_nb.client.runs import AsyncRuns
from agentsvc_nb.testing import RunningService, running_service
from tests.bench import stored
from tests.service.api.faces import Face, async_face, sync_face
from tests.support.waiting import PATIENCE_SECONDS, until

NOBODY = "http://127.0.0.1:9"


class Label(BaseModel):
    label: str
    sure: float | None = None

    @field_validator("label")
    @classmethod
    def known(cls, label: str) -> str:
        assert label != "odd", "it is odd"
        return label


ANSWER = 'answer {"label": "{{text}}"}'


@pytest.fixture
def salt() -> str:
    """So that no test gets another's answers."""
    return uuid.uuid4().hex


@pytest.fixture(scope="module")
def own() -> Iterator[RunningService]:
    """A service whose runs nobody else starts."""
    with running_service() as service:
        yield service


def test_a_row_gets_its_answer_its_chat_and_keeps_its_place(face: Face, salt: str) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(12)], "price": range(12)}, index=list("abcdefghijkl"))
    # The first ones take longest.
    prompt = f"wait 0.{{{{price}}}}\n{ANSWER}".replace("wait 0.", "wait 0.0")
    out = face(lambda client: client.map(asked.iloc[::-1], prompt, schema=Label, max_concurrency=4, salt=salt))
    pd.testing.assert_frame_equal(out[["text", "price"]], asked.iloc[::-1])
    assert list(out.columns) == ["text", "price", "label", "sure", "error", "run_id", "chat", "cents"]
    assert out.label.tolist() == out.text.tolist()
    assert out.error.isna().all()
    assert out.chat.nunique() == out.run_id.nunique() == 12
    assert [str(out.dtypes[name]) for name in ("label", "sure", "error", "cents")] == [
        *("string", "Float64", "string", "Float64")
    ]


def test_what_fails_fails_in_its_row(face: Face, salt: str) -> None:
    asked = pd.DataFrame({"do": ["say fine", "fail brain_gone It went away.", None, "say also"]})
    out = face(lambda client: client.map(asked, "{{do}}", salt=salt))
    assert out.answer.fillna("").tolist() == ["fine", "", "", "also"]
    assert out.error.fillna("").tolist() == [
        *("", "brain_gone: It went away.", "not asked: there is nothing in do", "")
    ]
    odd = face(
        lambda client: client.map(pd.DataFrame({"text": ["odd", "even"]}), ANSWER, schema=Label, salt=salt, prefix="a_")
    )
    assert "label: Assertion failed, it is odd" in odd.a_error[0]
    assert odd.a_label.fillna("").tolist() == ["", "even"]


def test_an_answer_that_does_not_fit_the_model_is_told_as_failed(face: Face, salt: str, tmp_path: Path) -> None:
    """It fits the schema, and not the model's own check. The same of an answer that was kept."""
    told: list[MapProgress] = []
    kept = tmp_path / "answers.jsonl"

    def mapped(texts: list[str]) -> pd.DataFrame:
        frame = pd.DataFrame({"text": texts})
        made: pd.DataFrame = face(
            lambda client: client.map(frame, ANSWER, schema=Label, salt=salt, keep=kept, on_progress=told.append)
        )
        return made

    assert mapped(["odd", "even"]).error.notna().tolist() == [True, False]
    assert (told[-1].done, told[-1].failed) == (2, 1)
    assert mapped(["odd", "even", "new"]).error.notna().tolist() == [True, False, False]
    assert (told[-1].done, told[-1].failed) == (3, 1)


def test_the_same_call_pays_nothing_and_a_changed_one_only_for_what_is_new(own: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"text": ["one", "two", "two"], "id": [7, 8, 9]})
    with AgentService(own.api_key, own.base_url) as client:
        first = client.map(asked, "say {{text}}", salt=salt)
        before = stored.runs(own, "completed")
        again = client.map(asked.sort_values("id", ascending=False), "say {{text}}", salt=salt)
        assert sorted(again.run_id) == sorted(first.run_id)
        more = client.map(pd.DataFrame({"text": ["zero", *asked.text]}), "say {{text}}", salt=salt)
        assert more.run_id[1:].tolist() == first.run_id.tolist()
        assert stored.runs(own, "completed") == before + 1
        named = [client.map(asked.iloc[order], "say {{text}}", key="id", salt=salt) for order in ([0, 1, 2], [2, 0, 1])]
    assert named[0].set_index("id").run_id.to_dict() == named[1].set_index("id").run_id.to_dict()


def test_a_row_whose_run_failed_is_asked_again_as_often_as_one_says(own: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"do": ["say fine", "fail brain_gone"]})
    with AgentService(own.api_key, own.base_url) as client:
        before = stored.runs(own, "failed")
        first = client.map(asked, "{{do}}", salt=salt)
        second = client.map(asked, "{{do}}", salt=salt, tries=2)
        third = client.map(asked, "{{do}}", salt=salt, tries=2)
    assert stored.runs(own, "failed") == before + 2
    assert first.run_id[0] == second.run_id[0]
    assert first.run_id[1] != second.run_id[1] == third.run_id[1]


def test_an_interrupt_keeps_what_is_there_and_the_same_call_goes_on(own: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(30)]})
    prompt = "wait 0.05\nsay {{text}}"

    def stop(progress: MapProgress) -> None:
        if progress.done == 6:
            raise KeyboardInterrupt

    with AgentService(own.api_key, own.base_url) as client:
        before = stored.runs(own, "completed")
        with pytest.raises(MapStopped, match="Stopped: 6 of 30 rows") as caught:
            client.map(asked, prompt, on_progress=stop, salt=salt)
        partial: Any = caught.value.partial
        there = partial[partial.answer.notna()]
        assert there.answer.tolist() == there.text.tolist()
        assert len(there) == 6
        assert set(partial.error.dropna()) == {"not answered: the call was interrupted"}
        whole = client.map(asked, prompt, salt=salt)
    assert whole.run_id[there.index].tolist() == there.run_id.tolist()
    assert whole.answer.tolist() == asked.text.tolist()
    assert stored.runs(own, "completed") == before + 30


def test_a_cancelled_task_goes_on_in_the_next_call(own: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(12)]})
    seen: list[MapProgress] = []

    async def cell() -> Any:
        enough = asyncio.Event()

        async def watch(progress: MapProgress) -> None:
            seen.append(progress)
            enough.set()

        async with AsyncAgentService(own.api_key, own.base_url) as client:
            cut = asyncio.create_task(client.map(asked, "wait 0.1\nsay {{text}}", on_progress=watch, salt=salt))
            await enough.wait()
            cut.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cut
            return await client.map(asked, "wait 0.1\nsay {{text}}", salt=salt)

    before = stored.runs(own, "completed")
    whole = asyncio.run(cell())
    assert whole.answer.tolist() == asked.text.tolist()
    assert seen[-1].partial().answer.notna().sum() >= seen[-1].done
    assert stored.runs(own, "completed") == before + 12


def test_kept_answers_need_no_service(service: RunningService, tmp_path: Path, salt: str) -> None:
    asked, file = pd.DataFrame({"do": ["say one", "fail brain_gone", "say three"]}), tmp_path / "answers.jsonl"
    with AgentService(service.api_key, service.base_url) as client:
        first = client.map(asked, "{{do}}", keep=file, salt=salt)
    file.write_text(file.read_text() + '\n{"key": "half a li')
    assert file.stat().st_mode & 0o777 == 0o600
    with AgentService("svc_sk_x", NOBODY) as elsewhere:
        again = elsewhere.map(asked, "{{do}}", keep=file, salt=salt)
        assert again.answer.equals(first.answer)
        assert again.run_id[[0, 2]].equals(first.run_id[[0, 2]])
        assert "cannot be reached" in again.error[1] or "Connection refused" in again.error[1]
        with pytest.raises(APIConnectionError):
            elsewhere.map(asked, "{{do}}", keep=tmp_path / "none.jsonl", salt=salt)
        with pytest.raises(StefanBrainError, match="cannot be kept in"):
            elsewhere.map(asked, "{{do}}", keep=tmp_path)


def test_rows_that_outlast_the_hold_are_followed(salt: str) -> None:
    asked = pd.DataFrame({"text": ["one", "two"]})
    with (
        running_service(sync_hold_seconds=0) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        assert client.map(asked, "wait 0.3\nsay {{text}}").answer.tolist() == ["one", "two"]
        late = client.map(asked, "wait 30\nsay {{text}}", timeout=0.2)
        assert late.error.str.contains("has not ended within the time allowed").all()
        assert [client.runs.cancel(run_id).run_id for run_id in late.run_id] == late.run_id.tolist()


def test_a_row_whose_hold_ends_while_the_hook_runs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone may have to approve something for it: it is told before it ends."""
    told, followed = threading.Event(), 0
    start, ended = AsyncRuns.start, waiting.ended

    async def begin(runs: AsyncRuns, message: str, **more: Any) -> Any:
        if message.endswith("second"):
            assert told.wait(PATIENCE_SECONDS)  # in a thread of the crew
        return await start(runs, message, **more)

    async def follow(*given: Any) -> Any:
        nonlocal followed
        followed += 1
        return await ended(*given)

    def seen(progress: MapProgress) -> None:
        if len(progress.going) == 1:
            told.set()
            until(lambda: followed == 2)
        elif len(progress.going) == 2 and not progress.done:
            raise KeyboardInterrupt

    monkeypatch.setattr(AsyncRuns, "start", begin)
    monkeypatch.setattr("agentsvc_nb.client.batch.ended", follow)
    with (
        running_service(sync_hold_seconds=0) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        asked = pd.DataFrame({"text": ["first", "second"]})
        with pytest.raises(MapStopped):
            client.map(asked, "wait 600\nsay {{text}}", timeout=10, on_progress=seen)


@pytest.mark.parametrize("by", [sync_face, async_face])
def test_a_full_service_is_waited_for_with_fewer_rows(by: Callable[[str, str], Face]) -> None:
    told: list[RetryNotice] = []
    seen: list[MapProgress] = []
    with running_service(run_capacity=2) as full:
        asked = pd.DataFrame({"text": [f"t{n}" for n in range(8)]})

        def work(client: Any) -> Any:
            watched = client.with_options(on_retry=told.append)
            return watched.map(asked, "wait 0.2\nsay {{text}}", max_concurrency=4, on_progress=seen.append)

        out = by(full.api_key, full.base_url)(work)
        assert out.answer.tolist() == asked.text.tolist()
        assert stored.runs(full, "completed") == 8
    assert {notice.error.code for notice in told} == {"runtime_capacity_busy"}
    assert {notice.seconds for notice in told} == {5.0}
    waited = next(number for number, progress in enumerate(seen) if progress.waiting > 0)
    assert max(progress.running for progress in seen[waited + len(told) :]) <= 2


def test_money_is_not_spent_past_the_limit(own: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(10)]})
    prompt = "usage 10000 0\nsay {{text}}"  # 1 cent each
    with AgentService(own.api_key, own.base_url) as client:
        out = client.map(asked, prompt, max_cents=4, salt=salt)
        assert out.cents.sum() == 4.0
        assert out.error.dropna().unique().tolist() == [
            "not asked: the next row could cost more than is left of 4 cents"
        ]
        assert client.map(asked, prompt, max_cents=4, salt=salt).equals(out)
        assert client.map(asked, prompt, max_cents=10, salt=salt).cents.sum() == 10.0


def test_an_estimate_comes_with_the_fifth_row(face: Face, salt: str) -> None:
    seen: list[MapProgress] = []
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(8)]})
    face(lambda client: client.map(asked, "usage 10000 0\nsay {{text}}", on_progress=seen.append, salt=salt))
    assert [progress.done for progress in seen] == list(range(1, 9))
    assert [progress.cents for progress in seen] == [float(n) for n in range(1, 9)]
    assert [progress.cents_expected for progress in seen] == [*[None] * 4, *[8.0] * 4]
    assert all((progress.seconds_left is None) == (progress.done < 5) for progress in seen)
    assert (seen[-1].seconds_left, seen[-1].running, seen[-1].failed) == (0.0, 0, 0)


def test_what_stops_every_row_stops_the_call(salt: str) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(6)]})
    with running_service(wallet_cents=3) as poor, AgentService(poor.api_key, poor.base_url) as client:
        out = client.map(asked, "usage 10000 0\nsay {{text}}", max_concurrency=1)
        assert out.answer.notna().sum() == 3
        assert out.error[3].startswith("api_wallet_exhausted: ")
        assert out.error[4].startswith("not asked: ")
        with pytest.raises(RateLimitError, match="api_wallet_exhausted"):
            client.map(asked, "say {{text}}", salt=salt)


def test_the_deadline_of_the_call_holds(service: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"do": ["say quick", "wait 30", "say never"]})
    with AgentService(service.api_key, service.base_url) as client:
        out = client.map(asked, "{{do}}", max_concurrency=1, deadline=1, salt=salt)
    assert out.answer[0] == "quick"
    assert out.error[1] == "The deadline passed before the service answered."
    assert out.error[2] == "not asked: the deadline passed"


def test_other_dataframes(service: RunningService, salt: str) -> None:
    asked = pl.DataFrame({"text": ["one", None, "three"], "n": [1.0, float("nan"), 3.0]})
    with AgentService(service.api_key, service.base_url) as client:
        out = client.map(asked, ANSWER, schema=Label, salt=salt)
        empty = client.map(asked.head(0), ANSWER, schema=Label, salt=salt)
        with pytest.raises(StefanBrainError, match=r"collect\(\) on a lazy one"):
            client.map(asked.lazy(), ANSWER)
        with pytest.raises(StefanBrainError, match=r"A builtins\.list is not a DataFrame"):
            client.map([{"text": "one"}], ANSWER)
    assert isinstance(out, pl.DataFrame)
    assert out["label"].to_list() == ["one", None, "three"]
    assert out["error"].to_list() == [None, "not asked: there is nothing in text", None]
    assert (
        empty.schema
        == out.schema
        == asked.schema
        | {"label": pl.String, "sure": pl.Float64}
        | {
            **dict.fromkeys(("error", "run_id", "chat"), pl.String),
            "cents": pl.Float64,
        }
    )


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("say {{txt}}", {}, "no such column"),
    ("say it", {}, "names no column"),
    ("say {{text}}", {"key": "id"}, "no column 'id'"),
    ("say {{text}}", {"key": "text"}, "'a' is twice"),
    ("say {{text}}", {"key": "part"}, "has no 'part'"),
    ("say {{text}}", {"prefix": "my_"}, "column 'my_answer' already"),
    ("say {{text}}", {"max_concurrency": 0}, "from 1 on"),
    ("say {{text}}", {"max_cents": 0}, "over 0"),
    ("say {{text}}", {"schema": int}, "no object"),
]


@pytest.mark.parametrize(("prompt", "options", "why"), REFUSED)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    prompt: str, options: dict[str, Any], why: str
) -> None:
    asked = pd.DataFrame({"text": ["a", "a"], "part": ["x", None], "my_answer": [1, 2]})
    with AgentService("svc_sk_x", NOBODY) as client:
        with pytest.raises(StefanBrainError, match=why):
            client.map(asked, prompt, **options)
        assert not client.history


def test_data_names_no_columns(service: RunningService, salt: str) -> None:
    asked = pd.DataFrame({"text": ["{{secret}}", "\\{{text}}"], "secret": ["s1", "s2"]})
    with AgentService(service.api_key, service.base_url) as client:
        out = client.map(asked, "say \\{{text}} {{ text }}", salt=salt)
    assert out.answer.tolist() == ["{{text}} {{secret}}", "{{text}} \\{{text}}"]
    assert all("s1" not in answer for answer in itertools.chain(out.answer))
