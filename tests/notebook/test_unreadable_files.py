"""A question about a file that can't be read, or is too large, says in the cell what to do instead."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.testing import running_service
from tests.notebook import samples
from tests.reports.corpus import encrypted

pytestmark = pytest.mark.usefixtures("connected")


def _archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("ads.csv", "a,b\n1,2\n")
    return data.getvalue()


def _database() -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE shop (a, b)")
        return database.serialize()


FILES = {
    "ads.zip": (_archive, "It is an archive. Unpack it, and attach the files that the question needs."),
    "shop.sqlite": (_database, "It is a database. Read the table that the question needs with DuckDB or pandas"),
    "tool.exe": (lambda: b"MZ\x90\0" + bytes(range(256)), "Files of this kind are not read. Attach a table"),
    "locked.xlsx": (lambda: encrypted("EncryptedPackage"), "It needs a password. Upload a copy without one."),
    "empty.csv": (lambda: b"", "It is empty."),
}


@pytest.fixture
def offline(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A shell whose service has the offline agent."""
    with running_service(model="offline", max_file_bytes=2_000_000) as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        terminal.cell(f"%agentsvc connect {service.base_url}")
        yield terminal


def test_a_file_that_is_not_read_says_what_to_do_instead(offline: Any, tmp_path: Path) -> None:
    for name, (make, said) in FILES.items():
        (tmp_path / name).write_bytes(make())
        answer = offline.cell(f"%%ask --new-chat --file {name}\nHow many rows does it have?")
        assert f"`uploads/{name}` can't be read: {said}" in answer.text
        assert said in repr(offline.cell("%files"))
    (tmp_path / "prices.parquet").write_bytes(samples.parquet(["product", "price"], [["lamp", 12.5], ["chair", 80.0]]))
    assert "2" in offline.cell("%%ask --new-chat --file prices.parquet\nHow many rows?").text


@pytest.mark.parametrize("cell", ["%%ask --file big.csv\nHow many rows?", "%files put big.csv"])
def test_a_file_that_is_too_large_says_what_to_do_instead(offline: Any, tmp_path: Path, cell: str) -> None:
    (tmp_path / "big.csv").write_bytes(b"a,b\n" + b"1,2\n" * 600_000)
    with pytest.raises(AskError, match=r"'big.csv' is larger than 2 MB. Nothing was stored") as caught:
        offline.cell(cell)
    assert "Split the file, or query it with DuckDB or pandas and send the part" in caught.value.hint
    assert "`AGENTSVC_MAX_FILE_BYTES` sets the limit" in caught.value.hint
