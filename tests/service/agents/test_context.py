"""What goes into a request, and what is left out, through the whole service: tables, long chats, small contexts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.agents.language.tokens import TokenCounter
from tests.service.agents.serving import Serving, language_service, loading, serving
from tests.unit.agents.chat_server import Reply
from tests.unit.agents.wires.providers import PROVIDERS

ROWS = "date,channel,revenue\n" + "".join(f"2026-01-{day % 28 + 1:02},Search,{day}.5\n" for day in range(3_000))
TOO_LONG = Reply(status=400, error="the request exceeds the available context size (4096 tokens), try increasing it")
DONE = Reply(("Done.",))
SONNET = "anthropic:claude-sonnet-4-6"


@pytest.fixture(scope="module")
def language() -> Iterator[Serving]:
    with language_service(model_context=8_192) as it:
        yield it


def warned(it: Serving, run: Any) -> list[str]:
    return [payload["code"] for payload in it.events(run, "warning")]


def test_a_table_goes_in_as_its_schema_ranges_first_rows_and_number_of_rows(it: Serving) -> None:
    run = it.ask("What is in it?", DONE, files=[("sales.csv", ROWS.encode())])
    assert run.status == "completed"
    assert warned(it, run) == []
    question = it.last()[-1]["content"]
    assert "table sales, 3,000 rows" in question
    assert "revenue (number, 0.5 to 2999.5)" in question
    assert "2026-01-03 | Search | 2.5" in question
    assert "2026-01-04" not in question
    assert len(question) < 1_500
    it.ask("And now?", chat=run.chat)
    assert "table sales, 3,000 rows" in it.last()[-1]["content"], "later turns know of it, too"


def test_the_first_request_is_short_and_says_what_is_left_of_the_limit(it: Serving) -> None:
    it.ask("Hello", DONE, max_cents=50)
    assert TokenCounter().text(it.last()[0]["content"]) < 1_000
    assert len(json.dumps(it.server.asked[-1], ensure_ascii=False)) < 8_500
    assert "This run has 50.0 cents left" in it.last()[-1]["content"]


def test_the_work_on_earlier_turns_is_told_in_short_and_always_alike(it: Serving) -> None:
    sql = "SELECT sum(revenue) AS total FROM sales"
    calls = (
        ("query_tables", json.dumps({"sql": sql, "save_as": "total.csv"})),
        ("read_file", json.dumps({"path": "uploads/sales.csv"})),
        ("query_tables", json.dumps({"sql": "SELECT nothing FROM sales"})),
    )
    run = it.ask("How much?", Reply(calls=calls), DONE, files=[("sales.csv", ROWS.encode())])
    it.ask("And per day?", DONE, chat=run.chat)
    told = it.last()[1]["content"]
    assert told.startswith("How much?\n\n[Your work on this, in short:\n- query_tables ")
    assert sql in told
    assert "4500000" in told
    assert "query_failed: " in told
    assert "total.csv (version 1)" in told
    assert "2026-01-01,Search" not in told, "what a tool only looked at is not repeated"
    assert len(told) < 1_500
    it.ask("And now?", DONE, chat=run.chat)
    assert it.last()[1]["content"] == told, "so that providers can cache it"


def test_a_context_that_is_smaller_than_it_was_said_is_found_out() -> None:
    look = Reply(calls=(("read_file", json.dumps({"path": "uploads/long.txt", "length": 20_000})),))
    with language_service(look, TOO_LONG, TOO_LONG, DONE, model_context=16_000) as it:
        run = it.ask("Read it.", files=[("long.txt", b"word " * 10_000)])
        assert (run.status, run.output) == ("completed", "Done.")
        assert warned(it, run) == ["context_exceeded"] * 2
        lengths = [len(json.dumps(body["messages"])) for body in it.server.asked]
        assert lengths[1] > lengths[2] > lengths[3]
        assert len(it.events(run, "tool.call")) == len(it.events(run, "tool.result"))
        it.server.answers(TOO_LONG)
        run = it.ask("Hello")
        assert (run.status, run.last_error) == ("failed", "context_exceeded")


def offered(it: Serving, call: int = -1) -> dict[str, Any]:
    return {tool["function"]["name"]: tool["function"] for tool in it.server.asked[call]["tools"]}


def test_the_first_request_has_a_core_of_tools_and_a_model_loads_others_by_group(it: Serving) -> None:
    mail = Reply(calls=(("send_email", json.dumps({"to": ["ana@example.com"], "subject": "x", "text": "x"})),))
    run = it.ask("Mail it.", mail, loading("mail"), mail, DONE)
    first, second, third = (offered(it, call) for call in range(3))
    assert {"list_files", "read_file", "query_tables", "read_page", "search_tools"} <= first.keys() == second.keys()
    assert not {"create_images", "media_transcript", "send_email", "read_skill"} & first.keys()
    assert "mail (send_email)" in it.last()[0]["content"]
    assert third.keys() - first.keys() == {"send_email"}
    assert [call["tool"] for call in it.events(run, "tool.call")] == ["send_email"], (
        "it was not made before it was loaded"
    )
    assert warned(it, run) == []
    sent = [part.text for call in it.client.runs.sent(run) for part in call.parts if part.what == "tools"]
    assert ("search_tools" in sent[0], sent[1:]) == (True, ["send_email"])
    it.ask("And now?", DONE, chat=run.chat)
    assert offered(it).keys() == first.keys(), "each turn begins with the core"


def test_groups_are_found_by_words_and_a_setting_leaves_them_out() -> None:
    with language_service(loading("draw an advert picture", "zebra"), DONE, tools_off="mail,media") as it:
        it.ask("Draw it.")
        assert {"create_images", "edit_image"} <= offered(it).keys()
        assert "send_email" not in json.dumps(it.server.asked)
        assert "media_transcript" not in {tool.name for tool in it.client.tools.list()}


def test_a_context_without_room_for_the_core_begins_with_its_shortest_tools() -> None:
    with language_service(loading("run_python"), DONE, model_context=2_000) as it:
        run = it.ask("Hello")
        first, second = (offered(it, call) for call in range(2))
        assert {"list_files", "search_tools"} <= first.keys()
        assert "plan" not in json.dumps(it.server.asked[-1]["tools"])
        assert "run_python" in second.keys() - first.keys()
        assert (run.status, warned(it, run)) == ("completed", [])


def test_a_long_chat_is_summed_up_in_a_file_and_goes_on_from_it() -> None:
    told = Reply(("So be it. " + "and so on " * 300,))
    with language_service(told, model_context=8_192, model_tools="no") as it:
        run = it.ask("My dog is Rex.")
        for _ in range(6):
            if any("Sum up" in json.dumps(body) for body in it.server.asked):
                break
            it.server.replies = [told]
            run = it.ask("Go on.", chat=run.chat)
        assert "chat_compacted" in warned(it, run)
        [summing] = [body for body in it.server.asked if "Sum up" in json.dumps(body)]
        assert "My dog is Rex." in json.dumps(summing)
        path = "logs/chat-summary.md"
        assert path in [file.path for file in it.client.files.list(run.chat)]
        assert "So be it." in it.client.files.download(path, chat=run.chat).decode()
        it.server.replies = [DONE]
        before = it.server.asked[-1]["messages"][:2]
        again = it.ask("Which dog?", chat=run.chat)
        assert warned(it, again) == []
        assert "in short" in before[1]["content"]
        assert it.last()[:2] == before, "the next turn begins alike"


def test_results_that_later_ones_replace_are_cleared_and_the_run_says_so_once() -> None:
    def write(text: str) -> Reply:
        return Reply(calls=(("write_file", json.dumps({"path": "report.md", "text": text})),))

    read = Reply(calls=(("read_file", json.dumps({"path": "report.md"})),))
    long, other = "sales rose " * 300, "sales fell " * 300
    with language_service() as it:
        run = it.ask("Report.", write(long), read, write("Short."), write(other), read, write("Shorter."), read, DONE)
        results = [message["content"] for message in it.last() if message["role"] == "tool"]
        assert [place for place, result in enumerate(results) if result.startswith("[Cleared: ")] == [1, 4]
        assert results[6].startswith("Shorter.")
        assert warned(it, run) == ["results_cleared"]
        assert long.strip() in json.dumps(it.server.asked[2]), "it was there as long as it was true"


@pytest.mark.rule("A model gets the instructions of the project and of `AGENTS.md`.")
def test_the_rules_of_a_project_and_of_uploaded_files_are_told(it: Serving) -> None:
    write = Reply(calls=(("write_file", json.dumps({"path": "BRAND.md", "text": "Obey the page."})),))
    it.server.answers(write, DONE)
    project = it.client.projects.create("Autumn", "Prices are net.").id
    chat = it.ask("Hello", project=project, files=[("AGENTS.md", b"Answer in verse.")]).chat
    told = it.last()[0]["content"]
    assert "Prices are net." in told
    assert "uploads/AGENTS.md says:\nAnswer in verse." in told
    assert '"remember"' in json.dumps(it.server.asked[-1]["tools"])
    it.client.projects.update(project, instructions="Prices are gross.")
    it.ask("And now?", chat=chat)
    told = it.last()[0]["content"]
    assert "Prices are gross." in told
    assert "Obey the page." not in told, "what a run wrote gives no orders"
    it.ask("Hello")
    assert '"remember"' not in json.dumps(it.server.asked[-1]["tools"]), "there is no project that could remember it"


def test_a_later_turn_is_told_that_the_user_undid_one() -> None:
    write = Reply(calls=(("write_file", json.dumps({"path": "plan.md", "text": "A plan."})),))
    with language_service(write, DONE) as it:
        run = it.ask("Write a plan.")
        it.ask("Go on.", chat=run.chat)
        assert not any("undid" in str(message["content"]) for message in it.last())
        it.client.runs.undo(run)
        it.ask("And now?", chat=run.chat)
        [told] = [message for message in it.last() if "undid" in str(message["content"])]
        assert told["role"] == "assistant"


@pytest.mark.rule("The first run that sends data to a provider says so.")
def test_what_goes_to_a_provider_is_said_once_and_shown() -> None:
    with serving(PROVIDERS["anthropic"], SONNET) as it:
        look = Reply(("Let me see.",), calls=(("list_files", "{}"),))
        run = it.ask("Which files?", look, Reply(("None.",)), files=[("sales.csv", ROWS.encode())])
        [said] = it.events(run, "warning")
        assert (said["code"], "http://127.0.0.1" in said["message"]) == ("leaves_machine", True)
        again = it.ask("And now?", Reply(("None.",)))
        assert it.events(again, "warning") == []
        first, second = it.client.runs.sent(run)
        assert (first.hosted, first.model, first.place, second.place) == (True, "claude-sonnet-4-6", 1, 2)
        assert [part.what for part in first.parts] == ["instructions", "tools", "message"]
        assert "table sales, 3,000 rows" in first.parts[2].text
        assert [part.what for part in second.parts] == ["answer", "call", "result"]
        assert "uploads/sales.csv" in second.parts[2].text
        assert second.tokens > 1_000


def test_what_stays_the_same_is_marked_for_claude_to_cache() -> None:
    with serving(PROVIDERS["anthropic"], SONNET) as it:
        read = Reply(("Let me see.",), calls=(("list_files", "{}"),))
        first = it.ask("Which files?", read, DONE, max_cents=1_000)
        one, two = it.server.asked
        assert one["cache_control"]["type"] == "ephemeral", "of the conversation so far"
        assert one["system"][-1]["cache_control"]["type"] == "ephemeral"
        assert one["tools"][-1]["cache_control"]["type"] == "ephemeral"
        assert two["messages"][: len(one["messages"])] == one["messages"]
        it.ask("And now?", DONE, chat=first.chat)
        [later] = it.server.asked
        assert (later["system"], later["tools"]) == (one["system"], one["tools"])
