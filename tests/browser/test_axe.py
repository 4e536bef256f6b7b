"""The harness of axe-core sees what is wrong in an output, in each theme, and nothing of JupyterLab's own."""

from __future__ import annotations

import pytest

from tests.browser import axe
from tests.browser.conftest import Place
from tests.support.waiting import until

GREY = """from IPython.display import HTML
HTML('<p style="color:#999">grey</p>')"""
UNNAMED = """HTML('<p style="color:#444">dark</p><div role="progressbar">a bar</div>')"""


def test_what_is_wrong_is_listed_with_the_looks_it_is_wrong_in(place: Place) -> None:
    notebook = place.lab.open("wrong.ipynb", [GREY, UNNAMED])
    notebook.run_all()
    until(lambda: "dark" in notebook.output(1))
    with pytest.raises(AssertionError) as listed:
        axe.check(notebook)
    said = str(listed.value)
    assert "[JupyterLab Light, forced colours, 400 pixels] color-contrast (serious)" in said
    assert "[JupyterLab Dark, JupyterLab Dark High Contrast] color-contrast (serious)" in said
    assert "forced colours, 400 pixels] aria-progressbar-name (serious)" in said
    assert '<p style="color:#999">grey</p>' in said
    assert "jp-" not in said, "JupyterLab's own is judged"
    notebook.page.close()
