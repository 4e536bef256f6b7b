"""How an answer ends, with a server that speaks OpenAI's chat completions: half of one is not taken for the whole."""

from __future__ import annotations

import json

import pytest

from agentsvc_nb.client.errors import JobFailedError
from tests.service.agents.serving import Serving
from tests.service.agents.test_language import ANGLES, SCHEMA
from tests.unit.agents.chat_server import Reply

HALF = ("Once upon", " a time")
BROKEN = Reply(HALF, end="lost")


def test_an_answer_that_breaks_off_fails_and_what_was_said_is_kept(it: Serving) -> None:
    run = it.ask("a story", BROKEN)
    assert (run.status, run.last_error, run.output) == ("failed", "model_unavailable", "Once upon a time")
    assert "is incomplete" in (run.last_error_message or "")
    assert it.said(run) == "Once upon a time"
    assert run.usage.input_tokens > 0, "it has cost all the same"
    assert len(it.server.asked) == 1, "nobody paid for it twice"


def test_an_object_that_a_filter_stopped_is_not_asked_for_again(it: Serving) -> None:
    run = it.ask("Score it.", Reply(('{"score": 3}',), end="filtered"), output_config=SCHEMA)
    assert run.last_error == "content_filtered"
    assert len(it.server.asked) == 1


def test_an_answer_that_is_cut_has_a_warning(it: Serving) -> None:
    run = it.ask("a story", Reply(HALF, end="length"))
    assert (run.status, run.output) == ("completed", "Once upon a time")
    assert [payload["code"] for payload in it.events(run, "warning")] == ["answer_cut"]


def test_halves_of_a_character_in_two_events_are_joined(it: Serving) -> None:
    call = ("list_files", json.dumps({"tea": "\ud83c"}, ensure_ascii=False))
    run = it.ask("Tea?", Reply(("a \ud83c", "\udf75 b", "\udf75"), calls=(call,)), Reply(("Done.",)))
    said = "".join(payload["text"] for payload in it.events(run, "text.delta"))
    assert (run.status, said) == ("completed", "a \U0001f375 b\ufffd\n\nDone.")
    assert [each["content"] for each in it.last() if each["role"] == "assistant"] == ["a \U0001f375 b\ufffd"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(ANGLES.text, end="lost"), "model_unavailable"),
        (Reply(ANGLES.text, end="filtered"), "content_filtered"),
        (Reply((json.dumps({"angles": []})[:5],), end="length"), "output_schema_mismatch"),
    ],
)
def test_a_tool_that_asks_takes_no_half_of_an_answer(it: Serving, reply: Reply, code: str) -> None:
    it.server.answers(reply)
    with pytest.raises(JobFailedError) as failed:
        it.client.jobs.submit_and_wait("find_angles", {"product": f"tea {code}"})
    assert failed.value.job.error is not None
    assert failed.value.job.error.code == code
    assert len(it.server.asked) == 1
