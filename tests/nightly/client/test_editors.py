"""What an editor shows of the client while one types, as a language server answers it (docs/programs.md)."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from tests.nightly.client.editor import Editor
from tests.unit.client.conftest import KEY
from tests.unit.client.test_requests import operations_of

OPERATIONS = sorted(operations_of(AgentService(KEY)))
HEAD = [
    "from agentsvc_nb import AgentService, AsyncAgentService",
    "client = AgentService()",
    "later = AsyncAgentService()",
]
LINES = [*HEAD, *(f"{name}.{operation}(" for operation in OPERATIONS for name in ("client", "later"))]

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="basedpyright is not installed"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder: Path = tmp_path_factory.mktemp("editor")
    with Editor(folder, "\n".join(LINES)) as editor:
        yield editor


def test_each_operation_is_shown_whole(editor: Editor) -> None:
    """Its parameters and what it gives, what it raises, and an example; with every option, and none hidden."""
    for line, code in enumerate(LINES[len(HEAD) :], start=len(HEAD)):
        shown = editor.hover(line, len(code) - 2)
        assert "def " in shown, code
        assert re.search(r"\bRaises\b", shown), code
        assert ">>> " in shown, code
        assert "Options: `" in shown, code
        for signature in editor.signatures(line, len(code)):
            assert "deadline: float | None" in signature, code
            assert "**" not in signature, code
            assert not signature.endswith(("-> Any", "-> Unknown")), code


def test_a_client_is_shown_with_its_arguments(editor: Editor) -> None:
    for line in (1, 2):
        assert "Service" in editor.hover(line, len(LINES[line]) - 4)
        [signature] = editor.signatures(line, len(LINES[line]) - 1)
        for argument in ("api_key", "base_url", "max_retries", "timeout", "deadline", "headers", "on_retry", "on_wait"):
            assert f"{argument}: " in signature


def test_operations_are_offered_before_private_names(editor: Editor) -> None:
    for line, code in enumerate(LINES[len(HEAD) :], start=len(HEAD)):
        offered = editor.completions(line, code.rindex(".") + 1)
        private = next((number for number, name in enumerate(offered) if name.startswith("_")), len(offered))
        assert offered.index(code[code.rindex(".") + 1 : -1]) < private, code
