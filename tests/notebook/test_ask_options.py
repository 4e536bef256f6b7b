"""What goes along with a question, what its answer must look like, where it is asked, and Tab."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from matplotlib.figure import Figure
from PIL import Image

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.template import TemplateError, expand

pytestmark = pytest.mark.usefixtures("connected")


MODEL = """
import pydantic
class Label(pydantic.BaseModel):
    name: str
    count: int | None = None
    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name):
        assert name != "wrong", "no such name"
        return name
plain = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
"""


def _uploaded(client: AgentService, chat: str | None, name: str) -> bytes:
    (path,) = [file.path for file in client.files.list(str(chat)) if file.file_name == name]
    data = client.files.download(path, chat=str(chat))
    assert isinstance(data, bytes)
    return data


def test_a_dataframe_goes_along_and_is_summed_up(kernel: Any, client: AgentService) -> None:
    kernel.user_ns["sales"] = pd.DataFrame({"shop": ["Köln", None], "price_eur": [1.5, 2.0]})
    answer = kernel.cell("%%ask --df sales\nsay x")
    assert _uploaded(client, answer.chat, "sales.csv").decode() == "shop,price_eur\nKöln,1.5\n,2.0\n"
    (output,) = kernel.shown.outputs
    assert "price_eur float64" in output["text/plain"]


def test_a_question_on_one_line_takes_files(terminal: Any, client: AgentService, tmp_path: Path) -> None:
    for name in ("a.csv", "b c.csv"):
        (tmp_path / name).write_text(name)
    terminal.cell('%ask -f a.csv --file=b*.csv -o kept say it\'s "here"?')
    assert terminal.user_ns["kept"].text == 'it\'s "here"?'
    assert _uploaded(client, terminal.user_ns["kept"].chat, "a.csv") == b"a.csv"
    assert _uploaded(client, terminal.user_ns["kept"].chat, "b c.csv") == b"b c.csv"


def test_a_picture_in_a_variable_or_a_file_goes_along(terminal: Any, client: AgentService, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "photo.png")
    raw = io.BytesIO()
    Image.new("RGB", (2, 2), "blue").save(raw, "JPEG")
    axes = Figure(figsize=(1, 1)).add_subplot()
    terminal.user_ns |= {"drawn": Image.new("RGB", (3, 3)), "raw": raw.getvalue(), "ax": axes}
    chat = terminal.cell("%%ask --image drawn --image raw --image photo.png --image ax\nsay x").chat
    assert Image.open(io.BytesIO(_uploaded(client, chat, "drawn.png"))).size == (3, 3)
    assert _uploaded(client, chat, "raw.jpg") == raw.getvalue()
    assert _uploaded(client, chat, "photo.png") == (tmp_path / "photo.png").read_bytes()
    assert Image.open(io.BytesIO(_uploaded(client, chat, "ax.png"))).format == "PNG"


def test_the_answer_is_an_instance_of_the_model(terminal: Any) -> None:
    terminal.cell(MODEL)
    answer = terminal.cell('%%ask --schema Label\nanswer {"name": "a", "count": 2}')
    assert (type(answer.data).__name__, answer.data.name, answer.data.count) == ("Label", "a", 2)
    assert terminal.cell('%%ask --schema plain\nanswer {"a": 1}').data == {"a": 1}
    with pytest.raises(RunFailed, match=r"does not fit Label: name: .*no such name"):
        terminal.cell('%%ask -o wrong --schema Label\nanswer {"name": "wrong"}')
    assert terminal.user_ns["wrong"].status == "completed"


def test_a_list_of_records_is_a_dataframe(kernel: Any) -> None:
    kernel.cell(MODEL)
    answer = kernel.cell(
        '%%ask --schema list[Label]\nanswer {"records": [{"name": "<b>a", "count": 2}, {"name": "b"}]}'
    )
    table = answer.data
    assert [str(kind) for kind in table.dtypes] == ["string", "Int64"]
    assert (list(table["name"]), list(table["count"].fillna(-1))) == (["<b>a", "b"], [2, -1])
    assert (table.attrs["run_id"], table.attrs["chat"]) == (answer.run_id, answer.chat)
    (output,) = kernel.shown.outputs
    assert ">&lt;b&gt;a</td>" in output["text/html"]


def test_waiting_for_a_busy_chat(terminal: Any, client: AgentService) -> None:
    busy = client.runs.start("wait 0.5")
    assert terminal.cell(f"%%ask --chat {busy.chat} --on-busy wait\nsay after").text == "after"
    assert client.runs.get(busy.run_id).status == "completed"


def test_a_wait_for_a_busy_chat_has_its_time(terminal: Any, client: AgentService) -> None:
    busy = client.runs.start("wait 60")
    with pytest.raises(AskError, match=f"nothing was started.*{busy.run_id}"):
        terminal.cell(f"%%ask --chat {busy.chat} --on-busy wait --timeout 0.2\nsay after")
    client.runs.cancel(busy.run_id)
    assert list(terminal.cell("%runs")["status"]) == []


def test_the_last_error_goes_along_without_keys(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "a-secret-of-the-shop")
    secret = "svc_sk_" + "x" * 40
    with pytest.raises(ZeroDivisionError):
        terminal.cell(f"api_key = '{secret}'\nsent = 'a-secret-of-the-shop'\nx = 1 / 0")
    told = _uploaded(client, terminal.cell("%%ask --error\nsay x").chat, "last-error.md").decode()
    assert "x = 1 / 0" in told
    assert "ZeroDivisionError: division by zero" in told
    assert secret not in told
    assert "a-secret-of-the-shop" not in told
    assert "api_key = '[redacted]'" in told


def test_code_is_proposed_and_not_run(terminal: Any) -> None:
    answer = terminal.cell("%%ask --code\nsay Try:\nsay ```python\nsay ran = True\u202e\nsay print(ran)\nsay ```")
    assert answer.code == "ran = True\nprint(ran)"
    assert terminal.rl_next_input == answer.code
    assert "ran" not in terminal.user_ns


def test_what_cannot_be_asked_is_said_and_nothing_is_sent(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("x")
    terminal.cell("import pydantic\nnumber = 1\nclass Loop(pydantic.BaseModel):\n    child: 'Loop | None' = None")
    for line, said in (
        ("--df missing", "`missing`"),
        ("--image note.txt", "not a PNG"),
        ("--schema Loop", "refers to itself"),
        ("--code --bg", "--code and --bg"),
    ):
        with pytest.raises(AskError) as caught:
            terminal.cell(f"%%ask {line}\nsay x")
        assert said in str(caught.value)
    terminal.user_ns["table"] = pd.DataFrame()
    with pytest.raises(AskError) as caught:
        terminal.cell("%%ask\nsum {{table}}")
    assert "--df table" in caught.value.hint
    assert len(terminal.cell("%runs")) == 0


NAMES: dict[str, Any] = {
    "n": 3,
    "text": "plain",
    "sneaky": "{{secret}} {n} $n",
    "secret": "hidden",
    "row": {"price": 9.5, "tags": ["a", "é"]},
    "items": [{"name": "first"}],
    "plan": SimpleNamespace(title="Plan", _key="hidden"),
    "table": pd.DataFrame({"a": [1]}),
}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("{{n}} and {{ text }}", "3 and plain"),
        ("{{sneaky}}", "{{secret}} {n} $n"),
        ("{{row[price]}} {{row}}", '9.5 {"price": 9.5, "tags": ["a", "é"]}'),
        ("{{items[0][name]}} {{plan.title}}", "first Plan"),
        (r"\{{n}} stays", "{{n}} stays"),
    ],
)
def test_values_are_inserted_once(prompt: str, expected: str) -> None:
    assert expected == expand(prompt, NAMES)


@pytest.mark.parametrize("prompt", ["{{unknown}}", "{{table}}", "{{plan._key}}"])
def test_what_is_no_text_is_refused_by_name(prompt: str) -> None:
    with pytest.raises(TemplateError, match="nothing was sent") as caught:
        expand(f"a {prompt} b", NAMES)
    assert prompt in str(caught.value)


Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(terminal: Any) -> Complete:
    terminal.Completer.use_jedi = False

    def tab(text: str) -> list[str]:
        with provisionalcompleter():
            found = list(terminal.Completer.completions(text, len(text)))
        assert len({(each.start, each.end) for each in found}) <= 1
        return [text[: each.start] + each.text for each in found]

    return tab


def test_what_was_seen_is_completed_also_when_the_service_is_gone(
    terminal: Any, complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = terminal.cell("%%ask\nwrite out/plan.md x")
    job = terminal.cell("%%job echo_job\nsteps: 1\nseconds: 0").job.job_id
    terminal.cell("%tools")
    monkeypatch.setattr(httpx.Client, "send", None)
    assert complete(f"%runs show {answer.run_id[:4]}") == [f"%runs show {answer.run_id}"]
    assert complete("%files get out/p") == ["%files get out/plan.md"]
    assert complete("%%job echo") == ["%%job echo_job"]
    assert complete(f"%%ask --chat {answer.chat[:8]}")[0].startswith(f"%%ask --chat {answer.chat[:8]}")
    assert complete(f"%jobs show {job[:5]}") == [f"%jobs show {job}"]


def test_other_completions_are_left_alone(terminal: Any, complete: Complete, tmp_path: Any) -> None:
    (tmp_path / "plan.csv").write_text("a")
    assert "%%ask --file plan.csv" in complete("%%ask --file pla")
    assert "len" in complete("le")
    terminal.user_ns["table_of_mine"] = 1
    assert "%%time\ntable_of_mine" in complete("%%time\ntable_of_m")


def test_a_limit_of_money_is_the_runs(terminal: Any, client: AgentService) -> None:
    answer = terminal.cell("%%ask --max-cents 1\nsay x")
    assert client.runs.get(answer.run_id).max_cents == 1
    for wrong in ("0", "1e+30"):
        with pytest.raises(AskError, match=re.escape(f"max-cents {wrong} ")):
            terminal.cell(f"%%ask --max-cents {wrong}\nsay x")
