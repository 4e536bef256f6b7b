"""Documents are read and schemas judged in a child process, with the same results as at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.documents.children.pool import NoAnswer, NoChild
from agentsvc_nb.documents.schemas import judges, output
from agentsvc_nb.documents.schemas.judges import ASIDE_BYTES, FIELD_BYTES, TOO_LARGE, Judges
from tests.bench.process import peak_mb, resident_mb
from tests.service.test_documents import SIZE, VALUES
from tests.service.test_sandbox import children

PADDING = b" " * ASIDE_BYTES
START = ("message", "output_config", "file_ids")


@asynccontextmanager
async def opened() -> AsyncIterator[Judges]:
    made = Judges()
    try:
        yield made
    finally:
        made.close()


FILLERS = {
    "a text": b'"' + b"a" * (SIZE - 100) + b'"',
    "escapes": b'"' + b"\\n" * (SIZE // 2 - 100) + b'"',
    "letters": '"{}"'.format("\N{SNOWMAN}" * (SIZE // 3 - 100)).encode(),
    "values": b"[" + b",".join([b"1." + b"123456789" * 17] * 90_000) + b"]",
    "brackets": b"[" * (SIZE - 100),
    "not ended": b'"' + b"a" * (SIZE - 100),
}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("name", FILLERS)
def test_a_body_is_in_its_child_twice_at_most(name: str) -> None:
    """It was there five times: as bytes twice, as text, as values, and as text of those."""
    filler, before = FILLERS[name].decode(), children()
    data = b'{"message": %s}' % FILLERS[name]

    async def use() -> None:
        async with opened() as made:
            await made.read_object(bytearray(b"{}" + PADDING), "a")
            (child,) = children() - before
            at_rest, body = peak_mb(child), bytearray(data)
            with contextlib.suppress(ValueError):
                await made.read_object(body, "a", START)
            text = len(filler) * (1 if filler.isascii() else 2)
            most = (max(2 * SIZE, SIZE + text) + 100_000 * 150) / 2**20  # small values take more than their text
            assert peak_mb(child) - at_rest < most + 12
            assert not body, "it is not kept here, either"
            assert resident_mb(child) - at_rest < 12, "the memory is given back"

    asyncio.run(use())


@settings(max_examples=300, deadline=None)
@given(VALUES, st.integers(1, 9), st.sampled_from([None, 1]))
def test_what_a_document_weighs_does_not_depend_on_where_it_is_cut(value: Any, size: int, indent: int | None) -> None:
    data = json.dumps(value, indent=indent).encode()
    whole = output.weigh(data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "BLOCK_BYTES", size)
        assert output.weigh(bytearray(data)) == whole


@given(st.lists(st.sampled_from(["[", "]", "{", "}", '"', ",", "\\", " ", "a"]), max_size=20), st.integers(1, 5))
def test_text_that_is_no_document_weighs_no_less_in_parts(parts: list[str], size: int) -> None:
    data = "".join(parts).encode()
    whole = output.weigh(data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "BLOCK_BYTES", size)
        found = output.weigh(data)
    assert found[0] >= whole[0]
    assert found[1] >= whole[1]


def test_what_is_read_aside_is_what_is_read_at_once() -> None:
    async def use() -> None:
        async with opened() as made:

            async def compare(data: bytes) -> None:
                data += PADDING
                try:
                    expected: Any = output.read_object(data)
                except ValueError as error:
                    expected = str(error)
                try:
                    found: Any = await made.read_object(bytearray(data), "a")
                except ValueError as error:
                    found = str(error)
                assert found == expected

            for data in (b"", b"[1]", b'{"a": 1}}', b'{"a": NaN}', b"\xff", b'{"a": "\\ud800"}', b'{"a": "\n"}'):
                await compare(data)
            loop = asyncio.get_running_loop()

            @settings(max_examples=50, deadline=None)
            @given(st.dictionaries(st.text(max_size=5), VALUES))
            def documents(value: dict[str, Any]) -> None:
                text = json.dumps({**value, "long": "\N{SNOWMAN}\n" * ASIDE_BYTES}, ensure_ascii=False)
                asyncio.run_coroutine_threadsafe(compare(text.encode()), loop).result()

            await asyncio.to_thread(documents)

    asyncio.run(use())


def test_of_a_large_start_nothing_large_but_its_message_comes_back() -> None:
    given = {
        "message": "m" * 1_000_000,
        "output_config": {"type": "object", "x": "a" * FIELD_BYTES},
        "file_ids": ["x"],
        "unknown": [1] * 1_000,
    }

    async def use() -> None:
        async with opened() as made:
            found = await made.read_object(bytearray(json.dumps(given).encode()), "a", START)
            assert found == {"message": given["message"], "output_config": TOO_LARGE, "file_ids": ["x"]}

    asyncio.run(use())


def test_a_schema_and_an_answer_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "JUDGE_SECONDS", 0.0)

    async def use() -> None:
        async with opened() as made:
            assert "too long" in str(await made.fault({"type": "object"}, "a"))
            assert "too long" in str(await made.misfit("{}", {"type": "object"}, "a"))
            monkeypatch.setattr(judges, "JUDGE_SECONDS", 60.0)
            assert await made.fault({"type": "object"}, "a") is None
            monkeypatch.setattr(judges, "JUDGE_SECONDS", 0.0)
            assert await made.fault({"type": "object"}, "a") is None, "it is remembered"
            monkeypatch.setattr(judges, "JUDGE_SECONDS", 60.0)
            assert await made.misfit("{}", {"type": "object"}, "a") is None

    asyncio.run(use())


def test_a_schema_that_waits_too_long_for_others_is_refused_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(judges, "JUDGE_SECONDS", 0.0)

    async def use() -> None:
        async with opened() as made:
            with pytest.raises(NoChild):
                await made.fault({"type": "object"}, "a")

    asyncio.run(use())


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory holds on Linux")
def test_a_document_that_can_not_be_read_now_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "READ_SECONDS", 0.0)

    async def use() -> None:
        async with opened() as made:
            with pytest.raises(NoAnswer):
                await made.read_object(bytearray(b"{}" + PADDING), "a")

    asyncio.run(use())
