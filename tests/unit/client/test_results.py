"""Lists as tables: their columns and types."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pandas as pd
import pytest

from agentsvc_nb.client import errors, models
from agentsvc_nb.client.events import Event
from agentsvc_nb.client.models import Job, Listing, Run
from agentsvc_nb.wire.files import SearchResult, WorkspaceFile
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.tools import ToolDescription
from tests.unit.client.conftest import RUN_ID, Network, answer

Networks = Callable[..., Network]
FILE = {"id": "a" * 64, "path": "out/a.png", "file_name": "a.png", "size_bytes": 12, "kind": "output"}

TYPES = {
    WorkspaceFile: {
        "id": "string",
        "path": "string",
        "file_name": "string",
        "name": "string",
        "kind": "category",
        "media_type": "string",
        "size_bytes": "Int64",
        "updated_at": "datetime64[ns, UTC]",
        "run_id": "string",
        "output": "object",
        "unreadable": "string",
        "version": "Int64",
        "download_url": "string",
    },
    Event: {"id": "Int64", "type": "category", "created_at": "datetime64[ns, UTC]", "payload": "object"},
}


@pytest.mark.parametrize("kind", TYPES)
def test_the_columns_of_a_model(kind: type) -> None:
    assert models.columns(kind) == TYPES[kind]


@pytest.mark.parametrize("kind", [WorkspaceFile, SearchResult, Event, Job, ToolDescription, FeedbackReport, Run])
def test_an_empty_table_has_the_types_of_a_full_one(kind: type) -> None:
    empty = Listing([], kind).to_frame()
    fields = {"id": 1, "type": "x", "created_at": "", "payload": {}}
    known = {"name": "n", "path": "p", "run_id": "r", "job_id": "j", "status": "new", "id": "f"}
    record = Event(**fields) if kind is Event else kind(**known)  # type: ignore[arg-type]
    full = Listing([record], kind).to_frame()[list(empty.columns)]
    assert [str(each) for each in empty.dtypes] == [str(each) for each in full.dtypes]
    assert list(models.columns(kind).values()) == [str(each) for each in empty.dtypes]


def test_a_listing_over_its_pages(network: Networks) -> None:
    first = [FILE | {"path": "a", "updated_at": "2026-11-21T06:00:00.123Z"}, FILE | {"path": "b", "new": {"x": 1}}]
    pages = answer(200, {"files": first, "next_after": "b"}), answer(200, {"files": [FILE | {"path": "c"}]})
    table = network(*pages).client.files.list("chat_1").to_frame()
    assert list(table["path"]) == ["a", "b", "c"]
    assert list(table.columns) == [*models.columns(WorkspaceFile), "new"]
    assert table["updated_at"][0] == pd.Timestamp("2026-11-21T06:00:00.123Z")
    assert table["new"][1] == {"x": 1}


def test_a_search_and_a_page_of_events(network: Networks) -> None:
    snippets = [[{"text": "the ", "match": False}, {"text": "price", "match": True}]]
    found = answer(200, {"chat": "chat_1", "results": [FILE | {"match": "content", "snippets": snippets}]})
    table = network(found).client.files.search("price", chat="chat_1").to_frame()
    assert (table["match"][0], table.attrs) == ("content", {"chat": "chat_1"})
    page = answer(200, {"data": [{"id": 1, "type": "run.status", "created_at": "", "payload": {"status": "queued"}}]})
    events = network(page).client.runs.events(RUN_ID).to_frame()
    assert (events["id"][0], events["payload"][0]) == (1, {"status": "queued"})


def test_lists_are_lists_that_know_their_model(network: Networks) -> None:
    listed = network(answer(200, {"data": [{"name": "web_search"}]})).client.tools.list()
    assert [tool.name for tool in listed] == ["web_search"]
    assert network(answer(200, {"data": []})).client.tools.list().to_frame()["asynchronous"].dtype == "boolean"
    again = pickle.loads(pickle.dumps(listed))
    assert (again, again.kind) == (listed, ToolDescription)


def test_a_value_that_a_column_cannot_hold_names_it(network: Networks) -> None:
    net = network(answer(200, {"files": [FILE | {"size_bytes": 2**70}]}))
    listed = net.client.files.list("chat_1").all()
    assert listed[0].size_bytes == 2**70
    with pytest.raises(errors.StefanBrainError, match="sent a `size_bytes` that is no Int64"):
        listed.to_frame()


def test_a_value_of_another_type_is_no_record(network: Networks) -> None:
    net = network(answer(200, {"files": [FILE | {"size_bytes": "many"}]}))
    with pytest.raises(errors.StefanBrainError, match=r"a field that cannot be read: `files\.0\.size_bytes`"):
        net.client.files.list("chat_1").all()
