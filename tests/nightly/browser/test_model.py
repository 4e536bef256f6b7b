"""Another model from a cell of JupyterLab: its key is typed at the prompt, and the page and the saved notebook do not
have it."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from agentsvc_nb import embedded
from tests.browser.lab import Lab, Notebook
from tests.nightly.notebook.test_switches import KEY, MODEL, Wanting
from tests.support.waiting import until
from tests.unit.agents.wires.reply import Reply
from tests.unit.agents.wires.server import provider_server

CELLS = ["%load_ext agentsvc_nb", "%agentsvc model", f"%agentsvc model {MODEL}", "%%ask\nHello", "%agentsvc model"]
PATIENCE = 240.0


def _run(notebook: Notebook, cell: int) -> str:
    notebook.run(cell)
    until(lambda: notebook.prompts()[cell].strip("[]: \n*").isdigit(), patience=PATIENCE)
    return notebook.output(cell)


def test_a_model_is_chosen_by_its_key_alone(chromium: Browser, tmp_path: Path) -> None:
    form, root, data = Wanting(), tmp_path / "notebooks", tmp_path / "data"
    root.mkdir()
    with provider_server(form) as provider:
        provider.answers(Reply(("Blue",)))
        env = {"AGENTSVC_DATA": str(data), "ANTHROPIC_BASE_URL": provider.url}
        env |= {"XDG_STATE_HOME": str(tmp_path / "state"), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        try:
            with Lab(root, env, browser=chromium) as lab:
                notebook = lab.open("model.ipynb", CELLS)
                _run(notebook, 0)
                assert "asks for its key" in _run(notebook, 1)
                notebook.run(2)
                typed = notebook.page.locator("input.jp-Stdin-input")
                expect(typed).to_have_attribute("type", "password", timeout=PATIENCE * 1000)
                expect(notebook.page.locator(".jp-Stdin-prompt")).to_contain_text(f"Key for {provider.url}")
                typed.fill(KEY)
                typed.press("Enter")
                until(lambda: "answers from now on" in notebook.output(2), patience=PATIENCE)
                assert "in a file that only you can read" in notebook.output(2)
                answer = _run(notebook, 3)
                assert "Blue" in answer
                assert MODEL in answer
                assert "answers now" in _run(notebook, 4)
                page, saved = notebook.page.content(), json.dumps(notebook.save())
        finally:
            embedded.stop(data)
    assert KEY not in page + saved
    assert set(form.keys) == {KEY}
