"""What operations give back: as tables, as cards, as data."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel, Field, field_validator

from agentsvc_nb.client import errors, files, frames, runs, tools
from agentsvc_nb.client.following import Following
from agentsvc_nb.client.io import step
from agentsvc_nb.client.pages import Pages
from agentsvc_nb.client.results import EventPage, FileSearch, Job, Listing, Run
from agentsvc_nb.wire.events import Event
from agentsvc_nb.wire.feedback import FeedbackReport
from agentsvc_nb.wire.files import SearchResult, WorkspaceFile
from agentsvc_nb.wire.tools import JobAccepted, ToolDescription
from tests.client.conftest import RUN_ID, Network, answer, run
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.test_hostile import HOSTILE

Networks = Callable[..., Network]
FILE = {"id": "a" * 64, "path": "out/a.png", "file_name": "a.png", "size_bytes": 12, "kind": "output"}

# -- tables --------------------------------------------------------------------------------------------------------

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
        "download_url": "string",
    },
    Event: {"id": "Int64", "type": "category", "created_at": "datetime64[ns, UTC]", "payload": "object"},
}


@pytest.mark.parametrize("kind", TYPES)
def test_the_columns_of_a_model(kind: type) -> None:
    assert frames.columns(kind) == TYPES[kind]


@pytest.mark.parametrize("kind", [WorkspaceFile, SearchResult, Event, Job, ToolDescription, FeedbackReport, Run])
def test_an_empty_table_has_the_types_of_a_full_one(kind: type) -> None:
    empty = Listing([], kind).to_frame()
    fields = {"id": 1, "type": "x", "created_at": "", "payload": {}}
    known = {"name": "n", "path": "p", "run_id": "r", "job_id": "j", "status": "new", "id": "f"}
    record = Event(**fields) if kind is Event else kind(**known)  # type: ignore[arg-type]
    full = Listing([record], kind).to_frame()[list(empty.columns)]
    assert [str(each) for each in empty.dtypes] == [str(each) for each in full.dtypes]
    assert list(frames.columns(kind).values()) == [str(each) for each in empty.dtypes]


def test_a_listing_over_its_pages(network: Networks) -> None:
    first = [FILE | {"path": "a", "updated_at": "2026-11-21T06:00:00.123Z"}, FILE | {"path": "b", "new": {"x": 1}}]
    pages = answer(200, {"files": first, "next_after": "b"}), answer(200, {"files": [FILE | {"path": "c"}]})
    table = Pages(files.list_(network(*pages).core, "chat_1")).to_frame()
    assert list(table["path"]) == ["a", "b", "c"]
    assert list(table.columns) == [*frames.columns(WorkspaceFile), "new"]
    assert table["updated_at"][0] == pd.Timestamp("2026-11-21T06:00:00.123Z")
    assert table["new"][1] == {"x": 1}


def test_a_search_and_a_page_of_events(network: Networks) -> None:
    snippets = [[{"text": "the ", "match": False}, {"text": "price", "match": True}]]
    found = answer(200, {"chat": "chat_1", "results": [FILE | {"match": "content", "snippets": snippets}]})
    table = step(files.search(network(found).core, "price", chat="chat_1")).to_frame()
    assert (table["match"][0], table.attrs) == ("content", {"chat": "chat_1"})
    page = answer(200, {"data": [{"id": 1, "type": "run.status", "created_at": "", "payload": {"status": "queued"}}]})
    events = step(runs.events(network(page).core, RUN_ID)).to_frame()
    assert (events["id"][0], events["payload"][0]) == (1, {"status": "queued"})


def test_lists_are_lists_that_know_their_model(network: Networks) -> None:
    listed = step(tools.list_(network(answer(200, {"data": [{"name": "web_search"}]})).core))
    assert [tool.name for tool in listed] == ["web_search"]
    assert step(tools.list_(network(answer(200, {"data": []})).core)).to_frame()["asynchronous"].dtype == "boolean"
    again = pickle.loads(pickle.dumps(listed))
    assert (again, again.kind) == (listed, ToolDescription)


def test_a_value_of_another_type_names_its_column() -> None:
    drifted = WorkspaceFile.read(json.dumps(FILE | {"size_bytes": "many"}))
    with pytest.raises(errors.StefanBrainError, match="sent a `size_bytes` that is no Int64"):
        Listing([drifted], WorkspaceFile).to_frame()


# -- structured output ---------------------------------------------------------------------------------------------


class Item(BaseModel):
    name: str
    price: float = Field(ge=0)


class Offer(BaseModel):
    items: list[Item]

    @field_validator("items")
    @classmethod
    def _any(cls, items: list[Item]) -> list[Item]:
        if not items:
            raise ValueError("an offer has items")
        return items


@dataclass
class Plain:
    name: str
    count: int = 0


class Tree(BaseModel):
    children: list[Tree] = []


def finished(data: dict[str, Any] | None, status: str = "completed") -> dict[str, Any]:
    return run(status, structured_output=data, output="{}")


OFFER = {"items": [{"name": "lamp", "price": 12}]}


@pytest.mark.parametrize(
    ("shape", "given", "read"),
    [
        (Offer, OFFER, Offer(items=[Item(name="lamp", price=12)])),
        (Plain, {"name": "a"}, Plain("a")),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
        (None, {"x": 1}, {"x": 1}),
    ],
)
def test_the_answer_is_read_into_the_shape_that_was_asked_for(
    network: Networks, shape: Any, given: dict[str, Any], read: Any
) -> None:
    net = network(answer(200, finished(given)))
    done = step(runs.start(net.core, "go", sync=True, output_config=shape))
    assert done.data == read
    assert type(done.data) is type(read)
    sent = net.bodies[0].get("output_config")
    assert sent is None if shape is None else sent["type"] == "object"


def test_the_schema_that_is_sent(network: Networks) -> None:
    net = network(answer(202, run()))
    step(runs.start(net.core, "go", output_config=Plain))
    count = {"default": 0, "title": "Count", "type": "integer"}
    assert net.bodies[0]["output_config"] == {
        "title": "Plain",
        "type": "object",
        "properties": {"name": {"title": "Name", "type": "string"}, "count": count},
        "required": ["name"],
    }


def test_a_stream_keeps_the_shape(network: Networks) -> None:
    net = network(answer(202, run()), answer(200, finished(OFFER)))
    started = step(runs.start(net.core, "go", output_config=Offer))
    following = Following(net.core, started)
    step(following.close())
    assert step(following.final_status()).data.items[0].name == "lamp"


def test_a_run_that_is_read_anew_is_parsed(network: Networks) -> None:
    done = step(runs.get(network(answer(200, finished(OFFER))).core, RUN_ID))
    assert done.data == OFFER
    assert done.parse(Offer).items[0].price == 12


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"items": [{"name": "lamp", "price": -1}]}, r"items\.0\.price: Input should be greater than or equal to 0"),
        ({"items": []}, "items: Value error, an offer has items"),
        ({}, "items: Field required"),
    ],
)
def test_what_does_not_fit_is_named(data: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.StefanBrainError, match=f"The answer does not fit Offer: {said}"):
        Run(run_id=RUN_ID, status="completed", structured_output=data).parse(Offer)


def test_without_an_answer_there_is_no_data() -> None:
    failed = Run(run_id=RUN_ID, status="failed", last_error="model_required")
    assert failed.of_shape(Offer).data is None
    with pytest.raises(errors.StefanBrainError, match=r"\(failed\) has no structured output: model_required"):
        failed.parse(Offer)


@pytest.mark.parametrize(
    ("shape", "said"),
    [(Tree, "Tree refers to itself"), (int, "int is no object"), (Callable, "No JSON Schema can be made")],
)
def test_a_shape_that_no_answer_can_have_is_not_sent(network: Networks, shape: Any, said: str) -> None:
    net = network()
    with pytest.raises(errors.StefanBrainError, match=said) as caught:
        step(runs.start(net.core, "go", output_config=shape))
    assert (caught.value.code, net.requests) == ("invalid_output_config", [])


# -- how they show themselves --------------------------------------------------------------------------------------


def shown(value: Any) -> tuple[str, str]:
    bundle = value._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    return bundle["text/plain"], bundle["text/html"]


def everything(text: str) -> list[Any]:
    file = WorkspaceFile(id=text, path=text, file_name=text, name=text, media_type=text)
    search = {"path": text, "id": text, "match": text, "snippets": [[{"text": text, "match": True}]]}
    job = {"error": {"code": text, "message": text}, "progress": {"done": 1, "total": 2, "message": text}}
    error = errors.StefanBrainError(text, code=text, request_id=text, hint=text)
    error.path = text
    return [
        Run(run_id=text, status=text, chat=text, output=text, last_error=text, started_at=text),
        Job(job_id=text, status=text, tool=text, files=[file], **job),
        Listing([file], WorkspaceFile),
        Listing([ToolDescription(name=text, description=text)], ToolDescription),
        FileSearch(chat=text, results=[search]),
        EventPage(data=[Event(1, text, text, {text: text})]),
        Listing([JobAccepted(family=text, job_id=text, chat=text)], JobAccepted),
        error,
        errors.JobFailedError(Job(job_id=text, status=text)),
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_the_service_says_is_text(text: str) -> None:
    for value in everything(text):
        plain, html = shown(value)
        assert offences(html) == []
        assert not FORBIDDEN.search(plain.replace("\n", ""))


def test_a_run_as_a_card() -> None:
    done = Run(run_id=RUN_ID, status="completed", chat="chat_1", output="**42** <b>", steps=3)
    plain, html = shown(done)
    assert plain == f"Run completed\n  run: {RUN_ID}\n  chat: chat_1\n  steps: 3\n**42** <b>"
    assert "<td>chat_1</td>" in html
    assert "**42** &lt;b&gt;</pre>" in html


def test_a_long_text_is_cut() -> None:
    plain, html = shown(Run(run_id=RUN_ID, status="completed", output="x" * 9_000))
    assert plain.endswith("(9,000 characters)")
    assert max(len(plain), len(html)) < 2_500


def test_a_table_shows_its_first_rows_and_how_many_there_are() -> None:
    plain, html = shown(Listing([WorkspaceFile(**FILE | {"path": f"f{n}"}) for n in range(1_234)], WorkspaceFile))
    assert plain.startswith("Files (1,234)\n  path  name  kind")
    assert plain.endswith("f19         output              12\n… 1,214 more")
    assert (html.count("<tr>"), html.count("f19"), html.count("f20")) == (21, 1, 0)


def test_an_empty_table() -> None:
    assert shown(Listing([], WorkspaceFile)) == ("Files (0)", "<div><p><strong>Files (0)</strong></p></div>")


def test_an_error_as_a_card() -> None:
    error = errors.refused("message_required")
    plain, html = shown(error)
    assert plain.startswith("StefanBrainError\n  code: message_required\n  to do: ")
    assert "<td>message_required</td>" in html
