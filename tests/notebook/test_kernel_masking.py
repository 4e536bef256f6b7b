"""What of a kernel's variables is told to an agent, and what never is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from agentsvc_nb.notebook.kernel.variables import BYTES, MASKED, SharingRules, describe, describe_all
from tests.notebook.test_redaction import ROWS

EXAMPLES = [rows[0] for rows in ROWS.values()] + [("card 4111 1111 1111 1111", "4111"), ("PWD=hunter2;", "hunter2")]


RULES = SharingRules()


def told(value: Any, rules: SharingRules = RULES, name: str = "df") -> Any:
    return json.loads(json.dumps(describe(name, {name: value}, rules)))


def test_what_looks_like_a_credential_is_masked_everywhere() -> None:
    for text, secret in EXAMPLES:
        _is_masked(text, secret)


def _is_masked(text: str, secret: str) -> None:
    shapes = ("x " * 900 + "\n" + text, pd.DataFrame({"a": [text]}), pd.Series([text]), [text], {"a": text}, {text: 1})
    for value in shapes:
        assert secret not in json.dumps(told(value))


def test_the_value_after_a_secret_name_is_held_back() -> None:
    for value in (
        ("password", "hunter2"),
        pd.Series({"user": "ada", "password": "hunter2"}),
        pd.DataFrame({"v": ["ada", "hunter2"]}, index=pd.Index(["user", "token"], name="n")),
        pl.DataFrame({"n": ["user", "otp"], "v": ["ada", "hunter2"]}),
    ):
        shown = json.dumps(told(value))
        assert "hunter2" not in shown
        assert MASKED in shown


@pytest.mark.parametrize("name", ["API_KEY", "tokenValue"])
def test_names_that_say_so_hold_back_the_value(name: str) -> None:
    assert told("nothing special", name=name) == {"name": name, "type": "str", "length": 15, "value": MASKED}
    assert told(pd.DataFrame({name: ["plain"], "b": [1]}))["head"] == [[MASKED, 1]]
    assert told({name: "plain"})["first"] == {name: MASKED}


def test_hidden_names_are_not_mentioned() -> None:
    rules = SharingRules(hidden=("salary", "*_Email", "private?"))
    frame = pd.DataFrame({"Salary": [90000], "work_email": ["a@b.c"], "n": [1]})
    said = json.dumps(told(frame, rules))
    assert not [part for part in ("alary", "mail", "90000", "a@b.c") if part in said]
    assert told(frame, rules)["hidden_columns"] == 2
    assert told({"salary": 1, "n": 2}, rules)["first"] == {"n": 2}
    assert describe_all({"private1": 1, "n": 2}, rules)["variables"] == [{"name": "n", "type": "int"}]
    with pytest.raises(LookupError, match="no variable"):
        describe("private1", {"private1": 1}, rules)


def test_no_rows_means_no_values() -> None:
    secret = "Zanzibar"
    frame = pd.DataFrame({"a": [secret]})
    values: list[Any] = [secret, [secret], {"a": secret}, {secret}, frame, pd.Series([secret]), np.array([secret])]
    for value in values:
        assert secret not in json.dumps(told(value, SharingRules(rows=0)))
    assert "value" not in told(42, SharingRules(rows=0))
    assert told(frame, SharingRules(rows=0))["columns"][0]["name"] == "a"


def test_descriptions_are_bounded() -> None:
    huge: list[Any] = [
        pd.DataFrame({f"column_{n}_{'x' * 90}": ["y" * 1_000] * 5 for n in range(300)}),
        ["z" * 5_000] * 60,
        {f"{n}" * 100: "v" * 500 for n in range(300)},
        "t" * 300_000,
        10**9_000,
    ]
    for value in huge:
        assert len(json.dumps(told(value, SharingRules(rows=5)))) <= BYTES + 500


def test_nothing_of_a_users_class_is_called() -> None:
    class Trap:
        def __repr__(self) -> str:
            raise AssertionError

        __str__ = __len__ = __iter__ = __repr__

    assert told(Trap())["type"].endswith("Trap")
    assert told([Trap()])["first"] == ["<Trap>"]
    assert told({"a": Trap()})["first"] == {"a": "<Trap>"}
