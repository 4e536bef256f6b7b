"""The offline agent computes on DataFrames of the kernel, of which it gets what may be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.kernel import copying
from agentsvc_nb.notebook.kernel.copying import table_file
from agentsvc_nb.notebook.kernel.masking import Rules
from agentsvc_nb.testing import RunningService

SALES = """import pandas as pd
sales = pd.DataFrame({'region': ['North', 'South', 'North', 'West'], 'amount': [10, 25, 30, 5],
                      'salary': [71, 72, 73, 74], 'token': ['a-word-of-mine'] * 4, 'note': ['ghp_' + 'Z' * 36] * 4})"""


@pytest.fixture
def asked(terminal: Any, offline_service: RunningService, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A terminal whose service has the offline agent, with the variable `sales`."""
    monkeypatch.setenv("SERVICE_API_KEY", offline_service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", offline_service.base_url)
    terminal.cell(SALES)
    return terminal


@pytest.fixture
def client(offline_service: RunningService) -> Iterator[AgentService]:
    with AgentService(offline_service.api_key, offline_service.base_url) as client:
        yield client


def warnings(client: AgentService, run_id: str) -> list[str]:
    return [event.payload["code"] for event in client.runs.events(run_id).data if event.type == "warning"]


def test_which_region_sold_most(asked: Any, client: AgentService) -> None:
    answer = asked.cell("%%ask --kernel look --new-chat\nWhich region sold the most amount?")
    assert "**North" in answer.text
    assert "40" in answer.text
    assert "of sales`" in answer.text  # over 4 of 4 rows of sales
    assert warnings(client, answer.run_id) == []
    # The variable as it is now, not as it was copied before.
    asked.cell("sales.loc[1, 'amount'] = 500")
    answer = asked.cell("%%ask --kernel\nWhich region sold the most amount?")
    assert "**South" in answer.text
    # And without the kernel nothing of it is there.
    answer = asked.cell("%%ask --kernel off\nWhich region sold the most amount?")
    assert "South" not in answer.text


def test_what_is_hidden_or_a_credential_does_not_leave(asked: Any, client: AgentService) -> None:
    asked.cell("%config Ask.kernel_hidden = ['salary']")
    answer = asked.cell("%%ask --kernel look --new-chat\nWhat is the average amount in sales?")
    assert "17.5" in answer.text
    [copy] = [file for file in client.files.list(answer.chat) if file.path.startswith("uploads/.sales-")]
    left = client.files.head(copy.path, 10_000, chat=answer.chat).decode()
    assert left.startswith("region,amount,token,note\nNorth,10,")
    assert not [part for part in ("salary", "71", "a-word-of-mine", "ZZZZ") if part in left]
    asked.cell("%config Ask.kernel_rows = 0")
    answer = asked.cell("%%ask --kernel look --new-chat\nWhat is the average amount in sales?")
    assert "17.5" not in answer.text
    assert client.files.list(answer.chat).first() is None


def test_a_table_that_is_too_large_is_not_computed_in_part(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "ROWS_MAX", 3)
    answer = asked.cell("%%ask --kernel look --new-chat\nWhat is the average amount in sales?")
    assert "was not looked at" in answer.text
    assert "at most 3 rows" in answer.text
    assert "17.5" not in answer.text


def test_of_several_tables_the_one_that_is_named_is_copied(asked: Any, client: AgentService) -> None:
    asked.cell("costs = pd.DataFrame({'region': ['North'], 'amount': [7]})")
    answer = asked.cell("%%ask --kernel look --new-chat\nWhat is the total amount in costs?")
    assert "**" in answer.text
    assert "rows of costs" in answer.text
    assert [file.path.split("-")[0] for file in client.files.list(answer.chat)] == ["uploads/.costs"]


@pytest.mark.parametrize("library", [pd, pl])
def test_values_are_written_as_the_reader_of_tables_takes_them(library: Any) -> None:
    frame = library.DataFrame({"day": ["2026-01-05"], "n": [1.5], "gap": [None], "many": [[1, 2]], "t": ['a,b\n"c"']})
    assert table_file("df", {"df": frame}, Rules()) == (b'day,n,gap,many,t\n2026-01-05,1.5,,list of 2,"a,b\n""c"""\n')


def test_dates_an_index_with_a_name_and_objects() -> None:
    class Own:
        def __repr__(self) -> str:
            raise AssertionError("nothing of the user's is called")

    days = pd.to_datetime(["2026-01-05", "NaT"])
    frame = pd.DataFrame({"own": [Own(), 1], "day": days}, index=pd.Index(["x", "y"], name="code"))
    assert table_file("df", {"df": frame}, Rules()) == b"code,own,day\nx,<Own>,2026-01-05\ny,1,\n"
    with pytest.raises(LookupError, match="no DataFrame"):
        table_file("n", {"n": 1}, Rules())
    with pytest.raises(LookupError, match="no variable"):
        table_file("df", {"df": frame}, Rules(hidden=("df",)))
