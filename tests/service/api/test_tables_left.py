"""Tables that a run leaves as typed outputs, and the client's DataFrames of them (docs/api/files.md)."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire
from tests.service.api.leaving import leaving


def check(frames: list[pd.DataFrame], run_id: str) -> None:
    assert [frame.attrs["path"] for frame in frames] == ["results/Umsätze.csv", "results/b.csv"]
    first = frames[0]
    assert [str(kind) for kind in first.dtypes] == ["datetime64[us]", "float64"]
    assert first["revenue"].sum() == 12.5
    assert first.attrs["units"] == {"revenue": "€"}
    assert (first.attrs["title"], first.attrs["run_id"]) == ("Revenue by month", run_id)


def test_a_file_says_which_output_it_belongs_to(wire: Wire) -> None:
    run = wire.finish(leaving("a"))
    written = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "file.written"]
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    outputs = {file["path"]: file["output"] for file in listed}
    assert outputs["results/a.csv"] == outputs["results/a.schema.json"] == {"id": "table_a", "type": "table"}
    assert {file["path"]: file.get("output") for file in written} == outputs


def test_the_tables_of_a_run_are_dataframes(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(leaving("Umsätze", "b")))
        check(client.runs.tables(run), run.run_id)
        check(client.runs.tables(run.run_id), run.run_id)
        check(run.tables, run.run_id)
        assert run.df.equals(client.runs.get(run.run_id).df)
        assert pickle.loads(pickle.dumps(run)) == run


def test_the_answer_of_an_ask_has_its_tables(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        answer = client.ask(leaving("Umsätze", "b"), chat="new")
        check(answer.tables, answer.run_id or "")
        assert answer.df["revenue"].sum() == 12.5
        again = pickle.loads(pickle.dumps(answer))
        assert answer == again
        with pytest.raises(StefanBrainError, match=r"client\.runs\.tables"):
            _ = again.df
        with pytest.raises(StefanBrainError, match="This run left no table"):
            _ = client.ask("say hello", chat="new").df


def test_the_same_awaited_and_of_an_ask(service: RunningService) -> None:
    async def work() -> tuple[Any, str]:
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            answer = await client.ask(leaving("Umsätze", "b"), chat="new")
            with pytest.raises(StefanBrainError, match=r"client\.runs\.tables"):
                _ = answer.df
            assert (await client.runs.tables(answer))[0].attrs["chat"] == answer.chat
            with pytest.raises(StefanBrainError, match=r"client\.runs\.tables"):
                _ = (await client.runs.get(answer.run_id or "")).tables
            return await client.runs.tables(answer), answer.run_id or ""

    check(*asyncio.run(work()))


def test_no_table_is_a_sentence(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start("say hello"))
        assert client.runs.tables(run) == []
        with pytest.raises(StefanBrainError, match="This run left no table"):
            _ = run.df


def test_a_table_that_was_written_anew_is_still_the_one_of_its_run(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(leaving("a")))
        before = client.runs.tables(run)[0]
        client.runs.wait(client.runs.start("write results/a.csv other", chat=run.chat))
        assert client.runs.tables(run)[0].equals(before)
