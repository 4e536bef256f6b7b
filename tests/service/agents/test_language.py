"""The agent with a language model, through the whole service, against a server that speaks OpenAI's protocol."""

from __future__ import annotations

import base64
import io
import json

import pytest
from PIL import Image

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.service.accounts import usage_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.testing import running_service
from agentsvc_nb.tools.find_angles import Angle
from agentsvc_nb.wire import limits
from agentsvc_nb.wire.limits import OUTPUT_BYTES
from agentsvc_nb.wire.runs import Usage
from tests.service.agents.serving import MODEL, Serving, language_service, loading
from tests.support.waiting import until
from tests.unit.agents.chat_server import Reply, chat_server

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "maximum": 5}},
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.mark.rule("A language model's text streams as events, and its tokens are counted.")
def test_text_streams_and_tokens_are_counted(it: Serving) -> None:
    run = it.ask("hi", Reply(("Hello", ", ", "Ada.")))
    assert (run.status, run.output) == ("completed", "Hello, Ada.")
    assert "".join(payload["text"] for payload in it.events(run, "text.delta")) == "Hello, Ada."
    assert (run.steps, run.usage.input_tokens, run.usage.output_tokens) == (1, 100, 10)
    assert it.last()[-1]["content"].startswith("hi")


def test_tools_are_called_as_the_model_says_and_their_results_go_back(it: Serving) -> None:
    call = Reply(("Let me see.",), calls=(("list_files", "{}"), ("nothing", "{}")))
    run = it.ask("check this", call, Reply(("Done.",)))
    assert (run.status, run.output, run.steps) == ("completed", "Done.", 2)
    assert [payload["tool"] for payload in it.events(run, "tool.call")][:1] == ["list_files"]
    results = [message for message in it.last() if message["role"] == "tool"]
    assert len(results) == 2, "a tool that does not exist is answered, too"
    said = "".join(payload["text"] for payload in it.events(run, "text.delta"))
    assert said == "Let me see.\n\nDone."


def test_the_chat_is_remembered_and_trimmed_to_the_context() -> None:
    with language_service(Reply(("Noted.",)), model_context=2000) as it:
        chat = it.ask("My dog is Rex.").chat
        it.ask("And my cat is Tom.", chat=chat)
        texts = [(message["role"], message["content"]) for message in it.last()]
        assert ("user", "My dog is Rex.") in texts
        assert ("assistant", "Noted.") in texts
        it.ask("A long one: " + "word " * 500, chat=chat)
        it.ask("Which?", chat=chat)
        assert "Rex" not in json.dumps(it.last()), "what no longer fits is left out, the oldest first"


@pytest.fixture(scope="module")
def picture() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(made, "PNG")
    return made.getvalue()


def test_a_picture_is_seen_by_a_model_that_sees(picture: bytes) -> None:
    with language_service(Reply(("Red.",)), model_sees="yes") as it:
        run = it.ask("Which colour?", files=[("red.png", picture)])
        shown = [part["image_url"]["url"] for part in it.last()[-1]["content"] if part["type"] == "image_url"]
        assert base64.b64decode(shown[0].partition(",")[2]) == picture
        assert it.events(run, "warning") == []


def test_a_picture_that_is_not_seen_is_told(it: Serving, picture: bytes) -> None:
    run = it.ask(
        "Which colour?", Reply(("I can't see it.",)), files=[("red.png", picture), ("note.txt", b"a note of mine")]
    )
    assert [payload["code"] for payload in it.events(run, "warning")] == ["images_not_seen"]
    assert "a note of mine" in it.last()[-1]["content"]


@pytest.mark.rule("An answer that misses its schema is asked again up to three times.")
def test_an_answer_that_does_not_fit_the_schema_is_asked_again(it: Serving) -> None:
    run = it.ask("Score it.", Reply(('{"score": 9}',)), Reply(('{"score": 4}',)), output_config=SCHEMA)
    assert run.structured_output == {"score": 4}
    assert it.server.asked[0]["response_format"]["type"] == "json_schema"
    assert "maximum" in json.dumps(it.last()), "the model is told what was wrong"
    assert "".join(payload["text"] for payload in it.events(run, "text.delta")) == run.output


def test_an_answer_that_never_fits_fails_the_run(it: Serving) -> None:
    assert it.ask("Score it.", Reply(('{"score": 9}',)), output_config=SCHEMA).last_error == "output_schema_mismatch"
    assert len(it.server.asked) == 4


@pytest.mark.parametrize(
    ("status", "code"), [(401, "model_refused"), (404, "model_refused"), (503, "model_unavailable")]
)
def test_a_refusal_fails_the_run_with_its_reason(it: Serving, status: int, code: str) -> None:
    run = it.ask("hi", Reply(status=status), Reply(status=status))
    assert (run.status, run.last_error) == ("failed", code)
    assert "no such key" in (run.last_error_message or "")


@pytest.mark.rule("A cancel ends the model's request, and its tokens are counted.")
def test_a_cancel_cuts_the_call_off(it: Serving) -> None:
    it.server.answers(Reply(("Once", " upon"), hangs=True))
    run = it.client.runs.start("a story")
    until(lambda: it.said(run) == "Once upon")
    it.client.runs.cancel(run.run_id)
    ended = it.client.runs.wait(run.run_id, poll=0.02)
    assert (ended.status, ended.output) == ("cancelled", "Once upon")
    assert ended.usage.input_tokens > 0, "what was cut off has cost, too"
    assert it.server.cut_off.wait(5), "the server is told"


def test_a_call_without_counts_needs_a_look() -> None:
    with language_service(Reply(("x",), counts=False), wallet_cents=100) as it:
        it.ask("hi")
        with pytest.raises(StefanBrainError) as refused:
            it.ask("hi again")
        assert refused.value.code == "api_wallet_reconciliation_required"


def test_a_crash_repeats_the_step_in_flight_and_no_other() -> None:
    looks = Reply(("Looking.",), calls=(("review_copy", json.dumps({"copy": "Buy now"})),))
    with (
        chat_server(loading("ads"), looks, Reply(("On", "ce"), hangs=True), Reply(("End.",))) as server,
        running_service(MODEL, model_url=server.url) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        run = client.runs.start("go")
        until(lambda: len(server.asked) == 3)
        before = server.asked[-1]
        service.kill()
        service.start()
        ended = client.runs.wait(run.run_id, poll=0.05)
        assert (ended.status, ended.output, ended.steps) == ("completed", "End.", 3)
        assert len(server.asked) == 4, "no earlier step was asked again"
        assert server.asked[-1] == before, "the tools that were loaded, and what they said"
        assert "review_copy" in {tool["function"]["name"] for tool in before["tools"]}


ANGLES = Reply((json.dumps({"angles": [dict.fromkeys(Angle.model_fields, "x")]}),))
CALL = Reply(calls=(("find_angles", json.dumps({"product": "tea"})),))


def test_a_tool_asks_the_model_and_its_job_tells_what_that_took(it: Serving) -> None:
    it.server.answers(ANGLES)
    before = billed(it.folder)
    assert it.client.tools.describe("find_angles").available is True
    job = it.client.jobs.submit_and_wait("find_angles", {"product": "tea", "count": 1})
    assert job.data is not None
    assert len(job.data["angles"]) == 1
    assert "tea" in json.dumps(it.last())
    assert job.usage == Usage(input_tokens=100, output_tokens=10)
    assert billed(it.folder) - before == 110


def test_what_a_runs_tools_asked_is_the_runs_and_billed_once(it: Serving) -> None:
    it.server.answers(loading("ads"), CALL, ANGLES, Reply(("Done.",)))
    before = billed(it.folder)
    run = it.ask("find angles")
    assert run.usage == Usage(input_tokens=400, output_tokens=40)
    assert billed(it.folder) - before == 440


def test_a_question_of_a_tool_that_is_cut_off_has_cost_too(it: Serving) -> None:
    it.server.answers(loading("ads"), CALL, Reply(("{",), hangs=True), Reply(("Done.",)))
    before = billed(it.folder)
    run = it.client.runs.start("find angles")
    until(lambda: len(it.server.asked) == 3)
    it.client.runs.cancel(run.run_id)
    until(lambda: billed(it.folder) > before + 220)


def billed(folder: DataFolder) -> int:
    """Tokens, of all keys."""
    with open_database(folder) as database:
        lines = database.read(lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
    return sum(line.quantity for line in lines if line.kind == "tokens")


def test_an_answer_that_never_ends_is_stopped_and_what_it_took_is_counted(it: Serving) -> None:
    run = it.ask("go on", Reply(("x" * 1_000_000,) * 6))
    assert (run.status, run.last_error) == ("failed", "output_too_long")
    assert run.output == "x" * OUTPUT_BYTES
    assert run.usage.output_tokens > OUTPUT_BYTES // 10


def test_functions_of_the_caller_are_offered_and_calls_of_one_step_wait_together(
    it: Serving,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CALL_PENDING_SECONDS", 0.01)
    calls = tuple(("look_up", json.dumps({"order": order})) for order in (7, 8))
    it.server.answers(Reply(calls=calls), Reply(("Done.",)))
    waiting: list[str] = []

    def look_up(order: int) -> str:
        """Looks up an order."""
        if not waiting:  # the other call is told that its caller still works, though it has not been read
            until(lambda: len({one.path for one in it.client.history if one.path.endswith("/result")}) == 2)
        waiting.append(f"{order} lamps")
        return waiting[-1]

    with it.client.runs.start_and_stream("how many?", client_tools=[look_up]) as stream:
        run = stream.final_status()
    assert (run.status, run.output, run.steps) == ("completed", "Done.", 2)
    [offered] = [tool["function"] for tool in it.server.asked[0]["tools"] if tool["function"]["name"] == "look_up"]
    assert (offered["description"], list(offered["parameters"]["properties"])) == ("Looks up an order.", ["order"])
    results = [message["content"] for message in it.last() if message["role"] == "tool"]
    assert results == ["7 lamps", "8 lamps"]


def test_a_model_that_chooses_no_tools_does_not_use_functions() -> None:
    def look_up() -> None:
        """Looks up."""

    with language_service(Reply(("Hello.",)), model_tools="no") as it:
        run = it.ask("hi", client_tools=[look_up])
        assert [warning["code"] for warning in it.events(run, "warning")] == ["client_tools_not_used", "tools_not_used"]
        assert run.basis is not None
        assert run.basis.basis == "not_computed"
        assert "you cannot compute" in it.last()[0]["content"]
        again = it.ask("and now?", chat=run.chat)
        assert it.events(again, "warning") == [], "it is said before the first answer of a chat"
        assert again.basis == run.basis


@pytest.mark.rule("Each number of an answer is traced to a result of its chat.")
def test_the_numbers_of_an_answer_are_traced_to_results_of_the_chat(it: Serving) -> None:
    sql = "SELECT channel, sum(spend) AS spend FROM sales GROUP BY ALL"
    query = Reply(calls=(("query_tables", json.dumps({"sql": sql, "labels": ["spend: what was spent"]})),))
    rows = b"channel,spend\nEmail,1200\nEmail,34\nSocial,900\n"
    run = it.ask("Who spent what?", query, Reply(("Email spent 1,234, Social 987.",)), files=[("sales.csv", rows)])
    [called] = it.events(run, "tool.call")
    assert run.basis is not None
    assert (run.basis.basis, run.basis.number_counts) == ("written", {"traced": 1, "not_found": 1})
    [email, social] = run.basis.numbers
    assert (email.status, email.row, email.column, email.call_id) == ("traced", "Email", "spend", called["call_id"])
    assert run.output is not None
    assert run.output[social.start : social.end] == social.text == "987"
    again = it.ask("And again?", Reply(("Email spent 1,234.",)), chat=run.chat)
    assert again.basis is not None
    assert again.basis.number_counts == {"traced": 1}, "results of earlier turns count"
