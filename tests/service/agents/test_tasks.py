"""An analyst's tasks from the question to the file, in two providers' forms (docs/models.md "Plumbing, not
intelligence"). The service, its sandbox, its tools and the client are real; in the place of the model are programs that
know nothing but the requests."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.tools.programs import confinement
from tests.unit.agents import tasks
from tests.unit.agents.tasks.material import SYLLABLES, Made
from tests.unit.agents.tasks.office import Office, office
from tests.unit.agents.tasks.work import TASKS

FORMS: Final = ("anthropic", "responses")
SEEDS: Final = (1,)
MINDS: Final = ("asked", "minds", "minds_of_tables")
OTHERS: Final = {"tests.unit.agents.wires.reply", "PIL", "collections.abc", "dataclasses", "typing", "__future__"}

RESULT: Final = re.compile(r"\w\.(csv|tsv|md|xlsx|docx|pptx|png|pdf)\b|\bAS \w|(name|rename_axis)\W+'\w")
"""The name of a file, or of a column that is made."""

needs_sandbox = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
each_task = pytest.mark.parametrize("name", TASKS)
each_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def opened() -> Iterator[Callable[[str], Office]]:
    """Opens the office of a form, once."""
    offices: dict[str, Office] = {}
    with contextlib.ExitStack() as stack:

        def open_(form: str) -> Office:
            if form not in offices:
                offices[form] = stack.enter_context(office(form))
            return offices[form]

        yield open_


def text_of(mind: str) -> str:
    return (Path(tasks.__file__).parent / f"{mind}.py").read_text("utf-8")


def form_of(name: str, seed: int) -> int:
    return (list(TASKS).index(name) + seed) % 2


@needs_sandbox
@each_seed
@each_task
def test_a_task_is_done(opened: Callable[[str], Office], name: str, seed: int) -> None:
    made = Made(f"{name} {seed}")
    TASKS[name](opened(FORMS[form_of(name, seed)]), made)
    assert made.drawn
    assert not [word for word in made.drawn if any(word in text_of(mind).casefold() for mind in MINDS)]


def test_minds_know_nothing_but_requests() -> None:
    """They import nothing of the material, the tasks, the service or its files, and name no file or column of what
    comes of a task: the question says them. (No word that is drawn for a task is in them: `test_a_task_is_done`.)"""
    for name in MINDS:
        tree = ast.parse(text_of(name))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        known = {f"tests.unit.agents.tasks.{each}" for each in MINDS} | {
            "base64",
            "csv",
            "io",
            "itertools",
            "json",
            "re",
        }
        assert imported <= known | OTHERS
        assert not any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(tree))
        said = [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        assert not [one for one in said if RESULT.search(one.replace("/tmp/chart.png", ""))]
    assert len(SYLLABLES) ** 3 > 10_000
    assert not set(Made(1).words(50)) & set(Made(2).words(50))
