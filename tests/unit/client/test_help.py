"""What `?` and completion show of each operation: real signatures, an example that fits, and what is raised."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from agentsvc_nb.client import errors
from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.wire.codes import CODES
from tests.notebook.shells import NO_HISTORY
from tests.service.api.operations import operations_of
from tests.unit.client.conftest import KEY

OPERATIONS = sorted(operations_of(AgentService(KEY)))
WITH_OPERATIONS = pytest.mark.parametrize("name", OPERATIONS)
FACES = pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
VARIADIC = {"files.upload": {"files"}}
OPTIONS = (
    "Options: `timeout` (seconds per answer), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`."
)
OF_WAITS = "Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`."
BUILT_IN = {"ImportError", "OSError", "TypeError"}


@WITH_OPERATIONS
@FACES
def test_a_signature_names_every_parameter_with_its_type(face: type[Any], name: str) -> None:
    signature = inspect.signature(attrgetter(name)(face(KEY)))
    parameters = signature.parameters.values()
    assert {"deadline", "max_retries", "headers", "timeout"} <= set(signature.parameters)
    assert not [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    loose = {p.name for p in parameters if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    assert loose == VARIADIC.get(name, set())
    assert signature.return_annotation is not signature.empty


def test_both_faces_show_the_same_but_for_streams_and_pages() -> None:
    for name in OPERATIONS:
        plain, awaited = (attrgetter(name)(face(KEY)) for face in (AgentService, AsyncAgentService))
        assert plain.__doc__ == awaited.__doc__
        assert inspect.signature(plain).parameters == inspect.signature(awaited).parameters
        returned = str(inspect.signature(plain).return_annotation)
        later = str(inspect.signature(awaited).return_annotation).partition("[")[0]
        assert later in (returned.partition("[")[0], f"Async{returned.partition('[')[0]}", "AsyncStreamStart")


@WITH_OPERATIONS
def test_an_example_calls_the_operation_as_its_signature_says(name: str) -> None:
    operation = attrgetter(name)(AgentService(KEY))
    calls = [call for call in _calls(operation.__doc__) if ast.unparse(call.func) == f"client.{name}"]
    assert calls
    for call in calls:
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        bound = inspect.signature(operation).bind(*call.args, **given)  # raises what the call would raise
        assert set(given) <= set(bound.arguments)


def _calls(text: str) -> Iterator[ast.Call]:
    for example in doctest.DocTestParser().get_examples(text):
        yield from (node for node in ast.walk(ast.parse(example.source)) if isinstance(node, ast.Call))


@WITH_OPERATIONS
def test_what_is_raised_is_said_in_words_that_exist(name: str) -> None:
    text = attrgetter(name)(AgentService(KEY)).__doc__
    _, found, raised = text.partition("Raises")
    assert found
    raised = raised.partition(">>>")[0]
    codes = {word for word in re.findall(r"`([a-z_]+)`", raised) if word.count("_") and word not in _parameters(name)}
    assert codes <= set(CODES)
    classes = set(re.findall(r"\b[A-Z]\w+Error\b", raised))
    assert classes <= {kind for kind in vars(errors) if kind.endswith("Error")} | BUILT_IN
    assert classes or re.search(r"\bas `\w+`", raised)


def _parameters(name: str) -> set[str]:
    """What a docstring may name in backticks that is no code."""
    return {*inspect.signature(attrgetter(name)(AgentService(KEY))).parameters, "job_id", "active_run_id"}


@WITH_OPERATIONS
def test_the_options_of_every_call_are_explained(name: str) -> None:
    """An editor shows the docstring as it stands in the source, so nothing can be added to it here."""
    operation = attrgetter(name)(AgentService(KEY))
    [options] = [line.strip() for line in operation.__doc__.splitlines() if "Options: " in line]
    names = list(inspect.signature(operation).parameters)
    waits = names.index("timeout") < names.index("deadline")  # then `timeout` is an argument of its own
    assert options == (OF_WAITS if waits else OPTIONS)


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    made = InteractiveShell(config=NO_HISTORY)
    made.user_ns |= {"client": AgentService(KEY), "AgentService": AgentService}
    return made


@WITH_OPERATIONS
def test_a_question_mark_shows_signature_and_example(shell: InteractiveShell, name: str) -> None:
    shown = shell.object_inspect(f"client.{name}", detail_level=0)
    assert "deadline: 'float | None' = None" in shown["definition"]
    assert ">>> " in shown["docstring"]


def test_completion_offers_operations_and_options(shell: InteractiveShell) -> None:
    def offered(line: str) -> set[str]:
        with provisionalcompleter():
            return {found.text for found in shell.Completer.completions(line, len(line))}

    assert any(match.endswith("start_and_stream") for match in offered("client.runs.start_"))
    assert "on_busy=" in offered("client.runs.start('x', on_b")
    assert "deadline=" in offered("client.files.list('chat_1', dead")
    assert "max_retries=" in offered("AgentService(max_r")
    assert "on_wait=" in offered("client.with_options(on_w")
