"""`map`: a question over the rows of a DataFrame, against a real service. Each test has an account of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel, field_validator

from agentsvc_nb import AgentService, MapProgress, MapStopped
from agentsvc_nb.client.errors import APIConnectionError, RateLimitError, StefanBrainError
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import STRICT, ServiceFixture

NOBODY = "http://127.0.0.1:9"
ANSWER = 'answer {"label": "{{text}}"}'
CENT = "usage 10000 0\nsay {{text}}"
"""A cent a row."""


class Label(BaseModel):
    label: str
    sure: float | None = None

    @field_validator("label")
    @classmethod
    def known(cls, label: str) -> str:
        assert label != "odd", "it is odd"
        return label


def rows(count: int) -> pd.DataFrame:
    return pd.DataFrame({"text": [f"t{n}" for n in range(count)]})


@pytest.fixture
def own(stage: ServiceFixture) -> Wire:
    return stage.account(stage.service)


@pytest.fixture
def client(own: Wire) -> Iterator[AgentService]:
    with AgentService(own.key, str(own.http.base_url)) as client:
        yield client


def ran(client: AgentService, status: str = "completed") -> int:
    return len(list(client.runs.list(status=status)))  # type: ignore[arg-type]


@pytest.mark.rule("`map` asks about each row in its own chat and keeps order and index.")
def test_a_row_gets_its_answer_its_chat_and_keeps_its_place(client: AgentService) -> None:
    asked = pd.DataFrame({"text": [f"t{n}" for n in range(9)], "price": range(9)}, index=list("abcdefghi"))
    # The first ones take longest.
    out = client.map(asked.iloc[::-1], f"wait 0.0{{{{price}}}}\n{ANSWER}", schema=Label, max_concurrency=4)
    pd.testing.assert_frame_equal(out[["text", "price"]], asked.iloc[::-1])
    assert list(out.columns) == ["text", "price", "label", "sure", "error", "run_id", "chat", "cents"]
    assert out.label.tolist() == out.text.tolist()
    assert out.error.isna().all()
    assert out.chat.nunique() == out.run_id.nunique() == 9
    types = ["string", "Float64", "string", "Float64"]
    assert [str(out.dtypes[name]) for name in ("label", "sure", "error", "cents")] == types


def test_what_fails_fails_in_its_row(client: AgentService) -> None:
    asked = pd.DataFrame({"do": ["say fine", "fail brain_gone It went away.", None, "say also"]})
    out = client.map(asked, "{{do}}")
    assert out.answer.fillna("").tolist() == ["fine", "", "", "also"]
    assert out.error.isna().tolist() == [True, False, False, True]
    assert out.error[1].startswith("brain_gone: ")
    odd = client.map(pd.DataFrame({"text": ["odd", "even"]}), ANSWER, schema=Label, prefix="a_")
    assert "it is odd" in odd.a_error[0]
    assert odd.a_label.fillna("").tolist() == ["", "even"]


@pytest.mark.rule("A repeated `map` pays for new rows only.")
def test_the_same_call_pays_nothing_and_a_changed_one_only_for_what_is_new(client: AgentService) -> None:
    asked = pd.DataFrame({"text": ["one", "two", "two"], "id": [7, 8, 9]})
    first = client.map(asked, "say {{text}}")
    assert ran(client) == 3
    again = client.map(asked.sort_values("id", ascending=False), "say {{text}}")
    assert sorted(again.run_id) == sorted(first.run_id)
    more = client.map(pd.DataFrame({"text": ["zero", *asked.text]}), "say {{text}}")
    assert more.run_id[1:].tolist() == first.run_id.tolist()
    assert ran(client) == 4


def test_an_interrupt_keeps_what_is_there_and_the_same_call_goes_on(client: AgentService) -> None:
    asked = rows(12)

    def stop(progress: MapProgress) -> None:
        if progress.done == 6:
            raise KeyboardInterrupt

    with pytest.raises(MapStopped, match="6 of 12") as caught:
        client.map(asked, "wait 0.05\nsay {{text}}", on_progress=stop)
    partial: Any = caught.value.partial
    there = partial[partial.answer.notna()]
    assert there.answer.tolist() == there.text.tolist()
    assert len(there) == 6
    assert partial.error.notna().sum() == 6
    whole = client.map(asked, "wait 0.05\nsay {{text}}")
    assert whole.run_id[there.index].tolist() == there.run_id.tolist()
    assert whole.answer.tolist() == asked.text.tolist()
    assert ran(client) == 12


def test_kept_answers_need_no_service(client: AgentService, tmp_path: Path) -> None:
    asked, file = pd.DataFrame({"do": ["say one", "fail brain_gone", "say three"]}), tmp_path / "answers.jsonl"
    first = client.map(asked, "{{do}}", keep=file)
    file.write_text(file.read_text() + '\n{"key": "half a li')
    assert file.stat().st_mode & 0o777 == 0o600
    with AgentService("svc_sk_x", NOBODY) as elsewhere:
        again = elsewhere.map(asked, "{{do}}", keep=file)
        assert again.answer.equals(first.answer)
        assert again.run_id[[0, 2]].equals(first.run_id[[0, 2]])
        assert again.error.notna().tolist() == [False, True, False]
        with pytest.raises(APIConnectionError):
            elsewhere.map(asked, "{{do}}", keep=tmp_path / "none.jsonl")
        with pytest.raises(StefanBrainError):
            elsewhere.map(asked, "{{do}}", keep=tmp_path)


@pytest.mark.rule("`map` does not spend more than `max_cents`.")
def test_money_is_not_spent_past_the_limit(client: AgentService) -> None:
    out = client.map(rows(6), CENT, max_cents=4)
    assert out.cents.sum() == 4.0
    assert out.error.notna().sum() == 2
    assert client.map(rows(6), CENT, max_cents=4).equals(out)
    assert client.map(rows(6), CENT, max_cents=6).cents.sum() == 6.0


def test_what_stops_every_row_stops_the_call(stage: ServiceFixture) -> None:
    service = stage.other(**STRICT)
    with AgentService(stage.account(service).key, service.base_url) as client:
        out = client.map(rows(5), CENT, max_concurrency=1)
        assert out.answer.notna().sum() == 3
        assert out.error[3].startswith("api_wallet_exhausted: ")
        assert out.error[4:].notna().all()
        assert len(list(client.runs.list())) == 3, "the rest was not asked"
        with pytest.raises(RateLimitError, match="api_wallet_exhausted"):
            client.map(rows(5), "say {{text}}")


@pytest.mark.parametrize(
    ("prompt", "options", "why"),
    [
        ("say {{txt}}", {}, "txt"),
        ("say it", {}, "column"),
        ("say {{text}}", {"key": "id"}, "id"),
        ("say {{text}}", {"key": "text"}, "several times"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    prompt: str, options: dict[str, Any], why: str
) -> None:
    asked = pd.DataFrame({"text": ["a", "a"]})
    with AgentService("svc_sk_x", NOBODY) as client:
        with pytest.raises(StefanBrainError, match=why):
            client.map(asked, prompt, **options)
        assert not client.history
