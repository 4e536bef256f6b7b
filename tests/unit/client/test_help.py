"""What `?` and completion show of each operation: real signatures, an example that fits, and what is raised."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter

import pytest

from agentsvc_nb.client import errors
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.wire.codes import CODES
from tests.unit.client.conftest import KEY
from tests.unit.client.test_requests import operations_of

OPERATIONS = sorted(operations_of(AgentService(KEY)))
OPTIONS = (
    "Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`."
)
OF_WAITS = "Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`."


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_docstring_has_an_example_what_is_raised_and_the_options(name: str) -> None:
    operation = attrgetter(name)(AgentService(KEY))
    signature, text = inspect.signature(operation), operation.__doc__
    calls = [call for call in calls_in(text) if ast.unparse(call.func) == f"client.{name}"]
    assert calls
    for call in calls:
        signature.bind(*call.args, **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    names = list(signature.parameters)
    raised = text.partition("Raises")[2].partition(">>>")[0]
    codes = set(re.findall(r"`([a-z]+_[a-z_]+)`", raised))
    assert codes - {*names, "job_id", "active_run_id"} <= set(CODES)
    classes = set(re.findall(r"\b[A-Z]\w+Error\b", raised))
    assert classes <= {*vars(errors), "ImportError", "OSError", "TypeError"}
    assert classes or re.search(r"\berrors of `\w+`", raised)
    waits = names.index("timeout") < names.index("deadline")  # then `timeout` is an argument of its own
    assert [line.strip() for line in text.splitlines() if "Options: " in line] == [OF_WAITS if waits else OPTIONS]


def calls_in(text: str) -> Iterator[ast.Call]:
    for example in doctest.DocTestParser().get_examples(text):
        yield from (node for node in ast.walk(ast.parse(example.source)) if isinstance(node, ast.Call))
