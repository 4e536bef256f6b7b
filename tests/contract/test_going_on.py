"""A chat whose questions go on from the turn before, or take two of its files (docs/api/models.md)."""

from __future__ import annotations

import json

import pytest

from agentsvc_nb.testing import RunningService
from tests.contract.conftest import Opened, Wire

TABLE = b"order,country,product,revenue\n1,Austria,Tent,10\n2,Austria,Mug,20\n3,Spain,Tent,40\n4,Spain,Mug,2\n"


@pytest.fixture
def going(offline_service: RunningService, opened: Opened) -> Wire:
    return opened(offline_service)


def test_a_chat_goes_on_from_its_turn_before(going: Wire) -> None:
    given = {"payload": json.dumps({"message": "What is the total revenue in Spain?", "sync": True})}
    first = going("POST", "/runs", data=given, files={"file": ("orders.csv", TABLE)}).json()
    assert first["basis"]["values"] == ["42"]
    asked = [
        ("and for Austria?", "computed", ["30"]),
        ("and by product?", "computed", ["Mug", "20", "Tent", "10"]),
        ("Who is Ada?", "nothing", []),
        ("and by product?", "near", []),  # what is before was not answered of tables
    ]
    for question, basis, values in asked:
        run = going.finish(question, chat=first["chat"])
        assert (run["basis"]["basis"], run["basis"]["values"]) == (basis, values), run["output"]
        if basis == "computed":
            assert "With the question before: What is the total revenue in Spain" in run["output"]


def test_two_files_are_joined_and_the_answer_says_how(going: Wire) -> None:
    orders = b"order_id,customer_id,product,revenue\n1,C1,Tent,10\n2,C2,Mug,20\n3,C1,Mug,40\n4,C9,Mug,2\n"
    customers = b"customer_id,country,tier\nC1,Spain,Gold\nC2,Austria,Basic\nC3,Spain,Basic\n"
    given = {"payload": json.dumps({"message": "revenue by country", "sync": True})}
    files = [("file", ("orders.csv", orders)), ("file", ("customers.csv", customers))]
    run = going("POST", "/runs", data=given, files=files).json()
    assert run["basis"]["values"] == ["Austria", "20", "Spain", "50"]
    assert "orders.csv joined to uploads/customers.csv by customer_id; 3 of 4 rows matched." in run["output"]
    run = going.finish("and for Gold customers?", chat=run["chat"])
    assert run["basis"]["values"] == ["Spain", "50"]
