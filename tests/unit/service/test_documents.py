"""What a JSON document weighs is known before it is parsed, and is exact."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.documents import json_reading
from agentsvc_nb.wire.limits import MIB

TEXTS = st.text(alphabet='\\"[]{},: a\n\N{SNOWMAN}')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=30,
)


@settings(max_examples=40)
@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_it_is_the_values_and_how_deep_they_lie(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json_reading.weigh(text.encode()) == _weight(value)


def _weight(value: Any) -> tuple[int, int]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    weights = [_weight(item) for item in inner]
    return 1 + sum(count for count, _ in weights), max((1 + depth for _, depth in weights), default=0)


@pytest.mark.parametrize("part", ["[", "]", "{", "[]", '"', '""', '"\\', "\\", "[]]", ",", '{"":', "1,"])
def test_what_is_no_json_has_a_reason_too(part: str) -> None:
    for text in (part * (4 * MIB // len(part)), '{"a": [' + part * 1_000_000):
        with pytest.raises(ValueError, match=r"\w"):
            json_reading.read(text)


@pytest.mark.rule("`structured_output` is the final text if that is a JSON object, else null.")
def test_only_a_json_object_is_structured_output() -> None:
    assert json_reading.parse_object(' {"a": 1}') == {"a": 1}
    assert json_reading.parse_object("[1]") is None
    assert json_reading.parse_object("{broken") is None
    assert json_reading.parse_object('{"a":' * 100_000) is None
