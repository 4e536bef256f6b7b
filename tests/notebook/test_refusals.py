"""What is wrong is said in one clear sentence, the cell fails, and nothing is sent."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.connection import connect
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.testing import RunningService

KEY = "svc_sk_" + "secret" * 7
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key and an address where nothing listens: what is sent would be an APIConnectionError."""
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    monkeypatch.setenv("AGENTSVC_BASE_URL", NOWHERE)


@pytest.mark.usefixtures("no_service")
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%ask\n{{client}}", "{{client}}: there is no variable `client`"),
        ("%%ask\n{{table}}", "{{table}} is a DataFrame, not text"),
        ("%%ask\n{{1+1}}", "{{1+1}}: only the name of a variable is inserted"),
        ("%%ask\n   \n", "The message is empty"),
        ("%%ask --file missing.csv\nx", "There is no file missing.csv"),
        ("%%ask --file .\nx", ". is a folder"),
        ("%%ask --fast\nx", "unrecognized arguments: --fast"),
        ("%%ask --timeout soon\nx", "argument --timeout: invalid float value: 'soon'"),
        ("%%ask --file 'open\nx", "No closing quotation"),
        ("%%ask -o 1a\nx", "-o 1a: that is no name for a variable"),
        ("%%ask --chat ../x\nx", "'../x' is no chat id"),
        ("%%ask --chat chat_1 --new-chat\nx", "--chat and --new-chat exclude each other"),
        ("%%job\nx: 1", "the following arguments are required: tool"),
        ("%%job create_images\nno colon", "'no colon' is not `key: value`"),
        ("%%job create_images\n{broken", "The input is not JSON"),
        ("%%job create_images\n" + '{"a":' * 100_000, "The input is not JSON: it is nested too deeply"),
        ("%%job create_images\na: 1\na.b: 2", "`a` has a value and parts"),
        ("%files put missing-*.csv", "There is no file missing-*.csv"),
        ("%files put", "Name the files to put"),
        ("%files get", "Name one file to get"),
        ("%files get x", "This notebook has no chat yet"),
        ("%files steal x", "argument action: invalid choice"),
        ("%runs attach", "The run is missing"),
        ("%runs cancel 17", "'17' is not a run id"),
        ("%agentsvc connect", "The address is missing"),
        ("%agentsvc connect ftp://x", "'ftp://x' is not the address of a service"),
        ("%agentsvc connect https://me:pw@x.example", "must not carry a password"),
    ],
)
def test_nothing_is_sent(terminal: Any, cell: str, said: str) -> None:
    terminal.cell("import pandas; table = pandas.DataFrame()")
    with pytest.raises(AskError) as caught:
        terminal.cell(cell)
    assert said in str(caught.value)
    lines = caught.value._render_traceback_()
    assert 1 <= len(lines) <= 2
    assert "APIConnection" not in "".join(lines)


@pytest.mark.usefixtures("no_service")
def test_eleven_files_are_too_many(terminal: Any, tmp_path: Path) -> None:
    for number in range(11):
        (tmp_path / f"{number}.txt").write_text(str(number))
    with pytest.raises(AskError, match="11 files are too many; nothing was sent"):
        terminal.cell("%%ask --file *.txt\nx")


def test_a_key_without_an_address_names_both_choices(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    with pytest.raises(AskError, match="nothing was sent") as caught:
        terminal.cell("%%ask\nx")
    hint = caught.value.hint
    assert all(word in hint for word in ("AGENTSVC_BASE_URL", "%agentsvc connect URL", "unset SERVICE_API_KEY"))


def test_status_says_what_asking_would_say(
    terminal: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    terminal.cell("%agentsvc")
    said = capsys.readouterr().out
    assert "no service is named" in said
    assert all(word in said for word in ("%agentsvc connect URL", "%agentsvc connect local", "unset SERVICE_API_KEY"))
    assert "embedded service of this machine" not in said


def test_an_address_without_a_key_says_so(terminal: Any, service: RunningService) -> None:
    terminal.cell(f"%agentsvc connect {service.base_url}")
    with pytest.raises(AskError, match=f"There is no key for {service.base_url}"):
        terminal.cell("%%ask\nx")


def test_an_address_where_nothing_answers_leaves_the_connection_as_it_was(
    terminal: Any, service: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.cell(f"%agentsvc connect {service.base_url}")
    with pytest.raises(AskError, match=f"Nothing answers at {NOWHERE}.*left as it was"):
        terminal.cell(f"%agentsvc connect {NOWHERE}")
    terminal.cell("%agentsvc")
    assert capsys.readouterr().out.count(f"service  {service.base_url}") == 2


def test_any_answer_will_do_and_no_key_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                heads.append(connection.recv(4096).decode())
                connection.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert url in connect(Session(environ={"SERVICE_API_KEY": KEY}, journal=Journal(None)), f"{url}/")
        thread.join(30)
    assert heads[0].startswith("GET /healthz ")
    assert KEY not in heads[0]


@pytest.mark.usefixtures("no_service")
def test_a_start_that_reached_nothing_is_no_run(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AskError):
        terminal.cell("%%ask\nx")
    assert len(terminal.cell("%runs")) == 0
    capsys.readouterr()
    terminal.cell("%agentsvc")
    assert "journal  0 runs of this notebook" in capsys.readouterr().out


@pytest.mark.usefixtures("no_service")
def test_a_service_that_is_not_there_is_named(terminal: Any) -> None:
    with pytest.raises(AskError) as caught:
        terminal.cell("%%ask\nx")
    assert KEY not in str(caught.value)
    assert "127.0.0.1:9" in f"{caught.value} {caught.value.hint}"


@pytest.mark.usefixtures("no_service")
def test_braces_and_dollars_in_the_line_are_not_evaluated(terminal: Any) -> None:
    with pytest.raises(AskError, match=r"There is no file \{1/0\}\$HOME"):
        terminal.cell("%%ask --file {1/0}$HOME\nx")


@pytest.mark.parametrize("magic", ["%%ask", "%%job", "%runs", "%files", "%agentsvc"])
def test_help_has_an_example(terminal: Any, magic: str, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.cell(f"{magic}?")
    said = capsys.readouterr().out
    assert "Example:" in said
    assert f"\n  {magic} " in said.replace("\x1b[0m", ""), "the usage"


def test_loading_twice_and_unloading(terminal: Any) -> None:
    terminal.cell("%reload_ext agentsvc_nb")
    assert [type(part).__name__ for part in terminal.configurables if type(part).__name__ == "Ask"] == ["Ask"]
    terminal.cell("%unload_ext agentsvc_nb")
    assert "ask" not in terminal.magics_manager.magics["cell"]
    terminal.cell("%load_ext agentsvc_nb")


def test_options_are_set_with_config(terminal: Any) -> None:
    terminal.cell("%config Ask.live = True")
    terminal.cell("%config Ask.reuse = False")
    (ask,) = [part for part in terminal.configurables if type(part).__name__ == "Ask"]
    assert (ask.live, ask.reuse) == (True, False)
