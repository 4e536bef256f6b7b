"""The files of the extension for JupyterLab and Notebook, as `pip` puts them into share/jupyter."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from agentsvc_nb import __version__

FOLDER = Path(__file__).parent.parent / "share" / "jupyter" / "labextensions" / "agentsvc-nb"


def test_its_scripts_have_an_address_of_their_own_in_each_version() -> None:
    """Browsers keep them for ever."""
    described = json.loads((FOLDER / "package.json").read_text())
    scripts = b"".join(file.read_bytes() for file in sorted((FOLDER / "static").iterdir()))
    digest = hashlib.sha256(scripts).hexdigest()[:16]
    assert described["jupyterlab"]["_build"]["load"] == f"static/remoteEntry.js?v={digest}"
    assert described["version"] == __version__
