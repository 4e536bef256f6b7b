"""`agentsvc check`: what it accepts, how it judges, and what it prints (docs/check.md)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.cli.questions import Case, UnusableQuestions, judge, read_questions
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.models import Run
from agentsvc_nb.testing import RunningService, running_service
from tests.service.cli.test_cli import agentsvc
from tests.service.cli.test_cli_ways import press_once

ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "questions.yaml"


def faults(file: Path, expected: str, output: str, **fields: object) -> list[str]:
    """Why an answer of a language model is not as expected."""
    file.write_text(f"questions:\n  - {{ask: x, {expected}}}")
    run = Run.model_validate(
        {"object": "agent_run", "run_id": "1", "status": "completed", "model": "m", "output": output, **fields}
    )
    return judge(Case(question=read_questions(file).questions[0], model=None, run=run, seconds=2))


TABLE = """Here it is:

| Region | Sales | Share |
|---|---:|---:|
| **North** | €1,204.50 | 60 % |
| South | 803 | 40 % |
"""


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("value: 1204.5", "It was **€1,204.46** in 2026."),
        ("value: 4.8M", "Some 4,812,000 units."),
        ("value: 4812000, tolerance: 0.5%", "About 4.8 million."),
        ("value: [-3.5%, 12]", "Sales changed by \u22123.5 % in 12 shops."),
        ("value: 0.5, tolerance: 0.1", "The ratio is 0.42."),
        ("table: {North: 1204.5, south: 803}", TABLE),
        ("table: {North: [60, 1204.50]}", TABLE),
        ("table: [{region: North, share: 60%}, {region: South}]", TABLE),
        ("table: {North: 1200}, tolerance: 1%", TABLE),
        ("contains: [IN ZÜRICH, no], not_contains: [Bern, geneva]", "No **shop in** zürich."),
        ("contains: SELECT", "```sql\nselect 1\n```"),
        ("asks_back: true", "Which year do you mean?\n\n- 2025\n- 2026"),
        ("asks_back: false", "It is 12. Would you like a chart?"),
        ("refuses: true", "I can\u2019t say. The table has no costs."),
        ("refuses: false", "North sold 12. South sold 9. The table does not say why."),
        ("max_seconds: 2, max_cents: 1", ""),
    ],
)
def test_an_answer_is_as_expected(expected: str, output: str, file: Path) -> None:
    assert faults(file, expected, output) == []


@pytest.mark.parametrize(
    ("expected", "output", "why"),
    [
        ("value: 1204.5", "It was 1,204.4.", "value: expected 1,204.5; the answer has 1,204.4"),
        ("value: 3", "On 2026-03-03:\n```\n3\n```", "value: expected 3; the answer has no number"),
        ("value: 4.8M", "It was 4.8 thousand.", "value: expected 4,800,000; the answer has 4,800"),
        ("table: {North: 803}", TABLE, "table: the answer lacks North | 803"),
        ("table: [{region: North, sales: 60}]", TABLE, "table: the answer lacks North | 60"),
        ("table: [{city: North}]", TABLE, "table: the answer lacks North"),
        ("table: {North: 1}", "North has 1.", "table: the answer lacks any table"),
        ("contains: [east, north]", "North", "contains: the answer lacks east"),
        ("not_contains: north", "**Nor**th", "not_contains: the answer has north"),
        ("asks_back: true", "It is 12.", "asks_back: the answer does not ask for clarification, according to its text"),
        ("refuses: true", "It is 12.", "refuses: the answer does not refuse, according to its text"),
        ("refuses: false", "Sorry, no.", "refuses: the answer refuses, according to its text"),
        ("max_seconds: 1.5", "", "max_seconds: it took 2.0 s"),
    ],
)
def test_an_answer_is_not_as_expected(expected: str, output: str, why: str, file: Path) -> None:
    assert faults(file, expected, output) == [why]


def test_what_the_agent_says_of_its_answer_counts(file: Path) -> None:
    computed = {"basis": "computed", "headline": "Total: 12", "values": ["12"]}
    assert faults(file, "value: 3", "**12**, of 3 rows", basis=computed) == ["value: expected 3; the answer has 12"]
    back = {"basis": "asked_back"}
    assert faults(file, "asks_back: true, refuses: false", "I do not understand `margin`.", basis=back) == []
    (fault,) = faults(file, "refuses: true", "I cannot.", model="offline", basis={"basis": "quoted"})
    assert fault == "refuses: the answer does not refuse, according to the agent (`quoted`)"


def test_a_run_that_failed_is_a_fault_unless_the_model_refused(file: Path) -> None:
    failed = {"status": "failed", "last_error": "model_error", "last_error_message": "It broke."}
    assert faults(file, "refuses: true", "", **failed) == ["The run has the status failed: It broke."]
    assert faults(file, "refuses: true", "", status="failed", last_error="answer_refused") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{} is empty. Begin with:\nquestions:"),
        ("- ask: x", "{} has no `questions:`. Begin with:"),
        (
            "questions:\n  - ask: a: b",
            "{}:2: This is not valid YAML: mapping values are not allowed here. Put text",
        ),
        (
            "questions:\n  - ask: a\n    value: 1\n    ask: b",
            "{}:4: This is not valid YAML: `ask` occurs twice. Does a",
        ),
        ("a: \x01", "{} is not YAML in UTF-8: "),
        ("questions:\n" * 100_000, "{} is larger than 1 MB. Nothing was asked. Split it"),
        ("questions: []", "{}: `questions` cannot be used. Write a list of questions, each with `- ask: ...`"),
        ("questions:\n  - Who?", "{}: question 1: Write each question as `- ask: ...`."),
        ("questions:\n  - value: 1", "{}: question 1: `ask` is missing. Write the question."),
        ("questions:\n  - ask: Wer?", '{}: question 1 ("Wer?"): The question has no expectation. Add `value`, `table`'),
        ("questions:\n  - {ask: x, value: y}", '{}: question 1 ("x"): `value` cannot be used. Write a number such as'),
        (
            "questions:\n  - {ask: x, value: 1, max_cents: 0}",
            '("x"): `max_cents` cannot be used. Write a number of',
        ),
        (
            "questions:\n  - {ask: x, value: 1, tolerance: some}",
            "`tolerance` cannot be used. Write a number such",
        ),
        ("questions:\n  - {ask: x, table: 3}", "`table` cannot be used. Write rows such as {{North: 120"),
        ("questions:\n  - {ask: x, not-contains: y}", "`not-contains` is not a known field. Did you mean `not_c"),
        ("questions:\n  - {ask: x, value: 1, files: nope.csv}", "The file {0.parent}/nope.csv does not exist. Check"),
        ("file: x\nquestions:\n  - {ask: x, value: 1}", "{}: `file` is not a known field. Did you mean `files`?"),
        ("questions:\n  - {ask: x, value: 1}\n  - {ask: x, value: 2}", 'Two questions have the name "x". Change one'),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_what_to_write(text: str, message: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(UnusableQuestions) as failure:
        read_questions(file)
    assert message.format(file) in str(failure.value)


def test_nothing_is_asked_of_a_missing_file_or_one_in_another_encoding(file: Path) -> None:
    missing = agentsvc("check", file, "--data", file.parent / "data")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == f"agentsvc: {file}: No such file or directory. Check the path.\n"
    file.write_bytes("questions: é".encode("latin-1"))
    assert "is not YAML in UTF-8" in agentsvc("check", file, "--data", file.parent / "data").stderr
    assert not (file.parent / "data").exists()


def test_the_questions_of_the_gallery_are_answered_by_the_offline_agent(offline_service: RunningService) -> None:
    done = agentsvc("check", ROOT / "notebooks" / "questions.yaml", "--data", offline_service.data)
    assert done.returncode == 0, done.stdout


def test_the_page_shows_what_a_question_that_fails_prints(offline_service: RunningService, file: Path) -> None:
    page = (ROOT / "docs" / "check.md").read_text()
    _, first, failing, *_ = re.split("```yaml\n", page)
    for name in ("products.csv", "brief.md"):
        shutil.copy(ROOT / "notebooks" / name, file.parent)
    file.write_text(first.partition("```")[0])
    done = agentsvc("check", file, "--data", offline_service.data)
    assert done.returncode == 0, done.stdout
    file.write_text(failing.partition("```")[0])
    done = agentsvc("check", file, "--data", offline_service.data)
    shown = failing.partition("````text\n")[2].partition("````")[0]
    assert done.returncode == 1
    assert re.sub(r"\d\.\d ", "0.0 ", done.stdout) == re.sub(r"\d\.\d ", "0.0 ", shown)


def test_each_model_is_asked_if_the_service_offers_it(file: Path) -> None:
    file.write_text('questions:\n  - {ask: "say 12", value: 12, name: ü}\n  - {ask: say 2, value: 3}')
    with running_service(models="scripted,offline") as service:
        words = ["check", file, "--data", service.data, "--each", "scripted", "--each", "offline"]
        results = json.loads(agentsvc(*words, "--json").stdout)
        unknown = agentsvc(*words, "--each", "nope")
    assert [(each["question"], each["model"], each["status"]) for each in results] == [
        ("ü", "scripted", "ok"),
        ("say 2", "scripted", "fail"),
        ("ü", "offline", "fail"),
        ("say 2", "offline", "fail"),
    ]
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr == "agentsvc: The service does not offer nope. `agentsvc model` lists models.\n"


def test_junit_and_the_terminal_get_no_control_characters(service: RunningService, file: Path) -> None:
    file.write_text('questions:\n  - {ask: "say 12 \\e[m", value: 12}\n  - {ask: "say 2 \\e[m", value: 3, name: ü}')
    junit = file.parent / "results.xml"
    done = agentsvc("check", file, "--data", service.data, "--junit", junit)
    assert (done.returncode, "\x1b" in done.stdout) == (1, False)
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    failed = suite[1]
    assert (failed.get("name"), failed.get("classname")) == ("ü", "questions.scripted")
    assert failed[0].get("message") == "value: expected 3; the answer has 2"


def test_answers_are_recorded_and_judged_again_without_a_service(service: RunningService, file: Path) -> None:
    prices = file.parent / "prices.csv"
    prices.write_text("price\n1\n")
    file.write_text("files: prices.csv\nquestions:\n  - {ask: say 12 apples, value: 12}")
    answers, nowhere = file.parent / "answers", ["--data", file.parent / "data"]
    assert agentsvc("check", file, "--data", service.data, "--record", answers).returncode == 0
    assert agentsvc("check", file, *nowhere, "--replay", answers).returncode == 0
    file.write_text(file.read_text().replace("value: 12", "value: 13"))
    done = agentsvc("check", file, *nowhere, "--replay", answers)
    assert (done.returncode, "expected 13; the answer has 12" in done.stdout) == (1, True)
    prices.write_text("price\n2\n")
    assert "Record one with --record" in agentsvc("check", file, *nowhere, "--replay", answers).stdout
    assert not (file.parent / "data").exists()


def test_results_that_cannot_be_written_are_noticed_before_anything_is_asked(file: Path) -> None:
    file.write_text("questions:\n  - {ask: say 1, value: 1}")
    nowhere = ["--data", file.parent / "data"]
    assert agentsvc("check", file, *nowhere, "--junit", file.parent / "none" / "results.xml").returncode == 2
    done = agentsvc("check", file, *nowhere, "--record", file)
    assert (done.returncode, done.stderr) == (1, f"agentsvc: {file}: File exists.\n")
    assert not (file.parent / "data").exists()


def test_limits_of_time_and_money_end_runs_and_leave_the_rest(service: RunningService, file: Path) -> None:
    file.write_text('questions:\n  - {ask: "wait 60", value: 1, max_seconds: 0.2}\n  - {ask: say 1, value: 1}')
    done = agentsvc("check", file, "--data", service.data, "--parallel", 1)
    assert re.search(r"No answer arrived within \d+\.\d s; the run was cancelled\.", done.stdout)
    assert "1 fail, 1 ok" in done.stdout
    file.write_text('questions:\n  - {ask: "usage 9000 0\\nstep 1\\nsay 1", value: 1}\n  - {ask: say 1, value: 1}')
    done = agentsvc("check", file, "--data", service.data, "--parallel", 1, "--max-cents", 0.905)
    assert "1 ok, 1 skipped; 0.90 cents" in done.stdout
    assert "the cost limit for all questions is used up" in done.stderr
    file.write_text('max_seconds: 1\nquestions:\n  - {ask: "wait 60", value: 1}')
    done = agentsvc("check", file, "--data", service.data)
    assert (done.returncode, "1 fail" in done.stdout) == (1, True)
    assert "The time limit of 1 s for all questions is over." in done.stderr


def test_a_service_that_is_away_is_one_sentence(file: Path) -> None:
    file.write_text("questions:\n" + "".join(f"  - {{ask: say {n}, value: {n}}}\n" for n in range(3)))
    away = {"AGENTSVC_BASE_URL": "http://127.0.0.1:9", "SERVICE_API_KEY": "svc_sk_x"}
    done = agentsvc("check", file, "--parallel", 1, **away)
    assert (done.returncode, "1 fail, 2 skipped" in done.stdout) == (1, True)
    assert len(done.stderr.splitlines()) == 1
    assert "The other questions were not asked: The service did not answer" in done.stderr


def test_ctrl_c_cancels_what_runs_and_prints_what_is_known(
    service: RunningService, client: AgentService, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wait = "wait 600\nsay interrupted"
    file.write_text(
        f'questions:\n  - {{ask: say 1, value: 1}}\n  - {{ask: "{wait}", value: 1}}'.replace("600\n", "600\\n")
    )
    begun = [run.run_id for run in client.runs.list()]

    def waiting() -> bool:
        new = [run for run in client.runs.list() if run.run_id not in begun]
        return sorted(run.status for run in new) == ["completed", "running"]

    press_once(waiting)
    assert main(["check", str(file), "--parallel", "1", "--data", str(service.data)]) == 130
    printed = capsys.readouterr()
    assert "1 ok, 1 fail" in printed.out
    assert "Interrupted. Active runs were cancelled." in printed.err
    (run,) = [run for run in client.runs.list() if run.run_id not in begun and run.message.startswith("wait")]
    assert client.runs.wait(run.run_id, poll=0.05).status == "cancelled"
