"""What users make of answers, through both faces and with a real service: data, tables, attachments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

from agentsvc_nb import StefanBrainError
from tests.service.api.conftest import Wire
from tests.service.api.faces import Face


class Item(BaseModel):
    name: str
    price: float


class Offer(BaseModel):
    items: list[Item]


@dataclass
class Plain:
    name: str
    count: int = 0


OFFER = 'answer {"items": [{"name": "lamp", "price": 12}]}'


def test_structured_output_comes_as_the_model(face: Face) -> None:
    done = face(lambda client: client.runs.start(OFFER, output_config=Offer, sync=True))
    assert done.data == Offer(items=[Item(name="lamp", price=12)])
    assert face(lambda client: client.runs.get(done.run_id)).parse(Offer) == done.data


def test_structured_output_comes_as_the_dataclass(face: Face) -> None:
    done = face(lambda client: client.runs.start('answer {"name": "a"}', output_config=Plain, sync=True))
    assert done.data == Plain("a")


def test_the_service_holds_the_answer_to_the_model(face: Face) -> None:
    done = face(lambda client: client.runs.start('answer {"items": 3}', output_config=Offer, sync=True))
    assert (done.status, done.data) == ("failed", None)
    with pytest.raises(StefanBrainError, match="has no structured output"):
        done.parse(Offer)


def test_a_dataframe_goes_up_and_comes_back(face: Face, wire: Wire) -> None:
    chat = wire.new_chat()
    prices = pd.DataFrame({"product": ["lamp", "chair"], "price": [12.5, 80.0]})
    face(lambda client: client.files.upload(prices, ("same.csv", prices), chat=chat))
    listed = face(lambda client: client.files.list(chat).to_frame())
    assert list(listed["path"]) == ["uploads/same.csv", "uploads/table.csv"]
    assert listed["id"].nunique() == 1
    content = face(lambda client: client.files.download("uploads/table.csv", chat=chat))
    assert content == b"product,price\nlamp,12.5\nchair,80.0\n"


def test_tables_of_what_there_is_and_what_there_is_not(face: Face, wire: Wire) -> None:
    chat = wire.new_chat()

    def types(table: pd.DataFrame) -> dict[Any, str]:
        return {name: str(kind) for name, kind in table.dtypes.items()}

    empty = types(face(lambda client: client.files.list(chat).to_frame()))
    face(lambda client: client.files.upload(("plan.md", b"# the plan"), chat=chat))
    assert types(face(lambda client: client.files.list(chat).to_frame())) == empty
    found = face(lambda client: client.files.search("plan", chat=chat))
    assert types(found.to_frame()) == types(face(lambda client: client.files.search("nothing", chat=chat)).to_frame())
    assert "plan.md" in found._repr_mimebundle_()["text/html"]
    tools = face(lambda client: client.tools.list())
    assert list(tools.to_frame()["name"]) == [tool.name for tool in tools]
    run = wire.finish("say hello")
    events = face(lambda client: client.runs.events(run["run_id"])).to_frame()
    assert list(events["id"]) == list(range(1, len(events) + 1))
    assert str(events["created_at"].dtype) == "datetime64[ns, UTC]"
