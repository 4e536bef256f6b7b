"""The files of the extension for JupyterLab and Notebook, which `pip` copies into share/jupyter."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import agentsvc_nb
from agentsvc_nb import __version__

[PATHS] = agentsvc_nb._jupyter_labextension_paths()
FOLDER = Path(agentsvc_nb.__file__).parent / PATHS["src"]
SURFACE = Path(__file__).parent / "public_surface.txt"


def test_it_knows_the_names_of_the_magics_that_are_not_there_yet() -> None:
    known = {name.lstrip("%") for name in SURFACE.read_text().split() if name.startswith("%")}
    listed = re.search(r"const OURS = (\[.*?\]);", (FOLDER / "static" / "offer.js").read_text())
    assert listed is not None
    assert json.loads(listed[1]) == sorted(known)


def test_its_scripts_have_an_address_of_their_own_in_each_version() -> None:
    """Browsers keep them for ever."""
    described = json.loads((FOLDER / "package.json").read_text())
    scripts = b"".join(file.read_bytes() for file in sorted((FOLDER / "static").iterdir()))
    digest = hashlib.sha256(scripts).hexdigest()[:16]
    assert described["jupyterlab"]["_build"]["load"] == f"static/remoteEntry.js?v={digest}"
    assert described["version"] == __version__
