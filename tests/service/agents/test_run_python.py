"""Programs of a run share variables, which end with it, and a model that sees is shown what they draw."""

from __future__ import annotations

import json

import pytest

from agentsvc_nb.tools.programs import confinement
from agentsvc_nb.tools.programs.running import NEW_ATTEMPT
from tests.service.agents.serving import language_service
from tests.service.agents.test_looking import DONE, results, seen
from tests.support.waiting import until
from tests.unit.agents.chat_server import Reply
from tests.unit.tools.test_program_escapes import living

pytestmark = pytest.mark.skipif(bool(confinement.missing_requirement()), reason=str(confinement.missing_requirement()))
AWAY = Reply(("Well",), end="lost")
DRAW = "from PIL import Image\nfor n in range(6): Image.new('RGB', (9 + n, 9)).save(f'{n}.png')"


def program(code: str) -> Reply:
    return Reply(calls=(("run_python", json.dumps({"code": code})),))


def test_variables_last_from_call_to_call_and_end_with_the_run() -> None:
    before = living()
    with language_service(program("x = 6"), program("x * 7"), AWAY) as it:
        run = it.ask("Multiply.")
        assert results(it)[1] == "42"
        assert run.last_error == "model_unavailable"
        until(lambda: living() <= before)
        it.server.answers(program("'x' in globals()"), program("'x' in globals()"), DONE)
        resumed = it.client.runs.wait(it.client.runs.resume(run.run_id).run_id, poll=0.05, timeout=60)
        assert resumed.output == "Done."
        assert [said.partition("\n\n") for said in results(it)[2:]] == [
            ("False", "\n\n", f"The variables of earlier programs are gone: {NEW_ATTEMPT}."),
            ("False", "", ""),
        ]
        until(lambda: living() <= before)


def test_a_model_that_sees_is_shown_some_of_what_a_program_draws() -> None:
    with language_service(program(DRAW), AWAY, model_sees=True) as it:
        run = it.ask("Draw.")
        it.server.answers(DONE)
        resumed = it.client.runs.wait(it.client.runs.resume(run.run_id).run_id, poll=0.05, timeout=60)
        assert resumed.output == "Done."
        assert [picture.size for picture in seen(it)] == [(9 + n, 9) for n in range(4)]
        assert "picture: 5.png" in results(it)[0]


def test_a_model_that_sees_nothing_computes_all_the_same() -> None:
    with language_service(program(DRAW), DONE, model_sees=False) as it:
        assert it.ask("Draw.").output == "Done."
        assert seen(it) == []
        assert "picture: 5.png" in results(it)[0]
