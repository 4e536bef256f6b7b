"""Tab in the lines of our magics: from what was seen already, without a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter

from agentsvc_nb.testing import running_service

Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(terminal: Any) -> Complete:
    def tab(text: str) -> list[str]:
        with provisionalcompleter():
            found = list(terminal.Completer.completions(text, len(text)))
        assert len({(each.start, each.end) for each in found}) <= 1
        return [text[: each.start] + each.text for each in found]

    return tab


@pytest.mark.parametrize(
    ("typed", "kinds"),
    [
        ("%runs sh", {"show": "action"}),
        ("%%ask --new-c", {"--new-chat": "option"}),
        ("%%ask --df my_", {"my_table": "table"}),
        ("%%ask --each my_", {"my_table": "table"}),
        ("%%ask --schema my_", {"my_model": "schema", "my_rows": "schema"}),
        ("%%ask --image my_", {"my_bytes": "picture"}),
        ("%%ask\nAbout {{my_nu", {"my_number": "variable"}),
        ("%runs show la", {"last": "run"}),
    ],
)
def test_what_is_offered_fits_and_says_what_it_is(terminal: Any, typed: str, kinds: dict[str, str]) -> None:
    class my_model:
        pass

    given = {"my_table": pd.DataFrame(), "my_model": my_model, "my_rows": list[my_model]}
    terminal.user_ns |= given | {"my_bytes": b"x", "my_number": 5}
    with provisionalcompleter():
        found = {each.text: each.type for each in terminal.Completer.completions(typed, len(typed))}
    assert found == kinds


def test_what_was_seen_is_completed_also_when_the_service_is_gone(
    terminal: Any, complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_service(model="scripted") as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        assert complete("%tools cr") == []
        answer = terminal.cell("%%ask\nwrite out/plan.md x")
        job = terminal.cell("%%job echo_job\nsteps: 1\nseconds: 0").job.job_id
        terminal.cell("%tools\n%agentsvc project summer --create")
    assert complete(f"%runs show {answer.run_id[:4]}") == [f"%runs show {answer.run_id}"]
    assert complete("%runs cancel la") == ["%runs cancel last"]
    assert complete("%files get out/p") == ["%files get out/plan.md"]
    assert complete("%%job echo") == ["%%job echo_job"]
    assert complete("%%tool ask_st") == ["%%tool ask_stefanbrain"]
    assert complete("%tools create_im") == ["%tools create_images"]
    assert complete("%agentsvc project sum") == ["%agentsvc project summer"]
    assert complete(f"%%ask --chat {answer.chat[:8]}")[0].startswith(f"%%ask --chat {answer.chat[:8]}")
    assert complete(f"%jobs show {job[:5]}") == [f"%jobs show {job}"]


def test_other_completions_are_left_alone(terminal: Any, complete: Complete, tmp_path: Any) -> None:
    (tmp_path / "plan.csv").write_text("a")
    assert "%%ask --file plan.csv" in complete("%%ask --file pla")
    assert "len" in complete("le")
    assert complete("%timeit -r") == [] or "%runs" not in complete("%timeit -r")
    terminal.user_ns["table_of_mine"] = 1
    assert "%%time\ntable_of_mine" in complete("%%time\ntable_of_m")
