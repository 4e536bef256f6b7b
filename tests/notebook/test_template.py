"""`{{name}}` in a prompt."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.notebook.template import TemplateError, expand, insert

NAMES: dict[str, Any] = {
    "n": 3,
    "text": "plain",
    "sneaky": "{{secret}} {n} $n",
    "secret": "hidden",
    "row": {"price": 9.5, "tags": ["a", "é"]},
    "items": [{"name": "first"}],
    "plan": SimpleNamespace(title="Plan", _key="hidden"),
    "day": datetime.date(2026, 11, 21),
    "path": Path("a/b.csv"),
    "table": pd.DataFrame({"a": [1]}),
    "function": len,
    "nothing": None,
}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("{{n}} and {{ text }}", "3 and plain"),
        ("{{sneaky}}", "{{secret}} {n} $n"),
        ("{{row[price]}} {{row}}", '9.5 {"price": 9.5, "tags": ["a", "é"]}'),
        ("{{items[0][name]}} {{plan.title}}", "first Plan"),
        (r"\{{n}} stays", "{{n}} stays"),
        (r"\{{}} \{{ n + 1 }}", "{{}} {{ n + 1 }}"),
        (r"\textbf{{{n}}}", r"\textbf{3}"),
    ],
)
def test_values_are_inserted_once(prompt: str, expected: str) -> None:
    assert expected == expand(prompt, NAMES)


@pytest.mark.parametrize("prompt", ["{{unknown}}", "{{table}}", "{{plan._key}}", "{{row[missing]}}"])
def test_what_is_no_text_is_refused_by_name(prompt: str) -> None:
    with pytest.raises(TemplateError, match="nothing was sent") as caught:
        expand(f"a {prompt} b", NAMES)
    assert prompt in str(caught.value)


@pytest.mark.parametrize("prompt", ["{{ n + 1 }}", "{{}}", "{{n!r}}"])
def test_what_is_no_name_is_refused_with_the_way_to_write_it(prompt: str) -> None:
    with pytest.raises(TemplateError, match="only the name of a variable is inserted; nothing was sent") as caught:
        expand(f"a {prompt} b", NAMES)
    assert caught.value.hint.startswith(r"Write \{{")
    with pytest.raises(TemplateError, match="only the name"):
        insert({"brief": prompt}, NAMES)
    assert expand(f"a \\{prompt} b", NAMES) == f"a {prompt} b"


@given(st.text(max_size=80))
def test_a_value_is_never_expanded(value: str) -> None:
    assert f"<{value}>" == expand("<{{value}}>", {"value": value, "x": "oh no"})


def test_a_json_input_takes_numbers_and_lists_as_they_are() -> None:
    given_ = {"count": "{{n}}", "brief": "{{n}} of {{text}}", "tags": ["{{row[tags]}}"], "keep": True}
    assert insert(given_, NAMES) == {"count": 3, "brief": "3 of plain", "tags": [["a", "é"]], "keep": True}
