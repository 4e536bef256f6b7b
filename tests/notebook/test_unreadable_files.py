"""A question about a file that can't be read, or is too large, says in the cell what to do instead."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook import samples
from tests.reports.corpus import encrypted


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


@pytest.fixture(scope="module")
def small() -> Iterator[RunningService]:
    """A service with the offline agent that takes files of 2 MB."""
    with running_service(model="offline", max_file_bytes=2_000_000) as service:
        yield service


@pytest.fixture
def offline(terminal: Any, small: RunningService, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SERVICE_API_KEY", small.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", small.base_url)
    terminal.cell(f"%agentsvc connect {small.base_url}")
    return terminal


def test_a_file_that_is_not_read_says_what_to_do_instead(offline: Any, tmp_path: Path) -> None:
    for name, (make, said) in FILES.items():
        (tmp_path / name).write_bytes(make())
        answer = offline.cell(f"%%ask --new-chat --file {name}\nHow many rows does it have?")
        assert f"`uploads/{name}` can't be read: {said}" in answer.text
        assert said in repr(offline.cell("%files"))
    (tmp_path / "prices.parquet").write_bytes(samples.parquet(["product", "price"], [["lamp", 12.5], ["chair", 80.0]]))
    assert "2" in offline.cell("%%ask --new-chat --file prices.parquet\nHow many rows?").text


def test_a_file_that_is_too_large_says_what_to_do_instead(offline: Any, tmp_path: Path) -> None:
    (tmp_path / "big.csv").write_bytes(b"a,b\n" + b"1,2\n" * 600_000)
    with pytest.raises(AskError, match=r"'big.csv' is larger than 2 MB. Nothing was stored") as caught:
        offline.cell("%%ask --file big.csv\nHow many rows?")
    assert "Split the file, or query it with DuckDB or pandas and send the part" in caught.value.hint
    assert "`AGENTSVC_MAX_FILE_BYTES` sets the limit" in caught.value.hint
