"""JSON of others is read, or refused with one kind of error."""

from __future__ import annotations

import pytest

from agentsvc_nb.wire.reading import read_json


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 900_000, '{"a":' * 900_000, "1e400", "-1e400", "NaN", "Infinity", "1" * 5_000, b"\xff", b"\x00{"],
    ids=lambda text: ascii(text[:9]),
)
def test_what_can_not_be_read_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"), [("[1e300, 1]", [1e300, 1]), (b'{"a": "\xc3\xa4"}', {"a": "ä"}), ("1" * 4_000, int("1" * 4_000))]
)
def test_the_rest_is_read(text: str | bytes, value: object) -> None:
    assert read_json(text) == value
