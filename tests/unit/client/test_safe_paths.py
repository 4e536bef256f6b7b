"""Where downloads go, whatever the service calls its files."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.client import uploads
from agentsvc_nb.wire.files import WorkspaceFile
from tests.unit.client.conftest import Networks, answer
from tests.unit.client.streams import sse

NASTY = st.text(st.sampled_from("./\\:~ aA\u202e\u200b\x00\n*%\ud800é…CONaux1$¹"), max_size=300)
PATHS = st.one_of(st.text(max_size=300), NASTY)


@pytest.mark.rule("A downloaded file stays in its folder, whatever its path says.")
@settings(max_examples=50)
@given(PATHS)
def test_whatever_the_path_the_name_stays_in_its_folder(path: str) -> None:
    name = uploads.safe_name(path)
    for kind in (PurePosixPath, PureWindowsPath):
        assert kind(name).name == name
        assert not kind(name).is_absolute()
    assert not name.startswith((".", " "))
    assert not name.endswith((".", " "))
    assert len(os.fsencode(name)) <= 201
    assert not {unicodedata.category(char) for char in name} & {"Cc", "Cs"}


@pytest.mark.parametrize(
    "path", ["../evil", "/etc/evil", "a/..", "..\\evil", "\\\\host\\evil", "evil\x00.txt", "~/evil"]
)
@pytest.mark.parametrize("how", ["entry", "artifacts"])
def test_a_name_of_the_service_never_leads_out_of_the_folder(
    path: str, how: str, network: Networks, tmp_path: Path
) -> None:
    into = tmp_path / "into"
    into.mkdir()
    file = {"id": "", "path": path, "file_name": path, "size_bytes": 1}
    if how == "entry":
        network(sse(b"x")).client.files.download(WorkspaceFile(**file), chat="c", to=f"{into}/")
    else:
        done = answer(200, {"job_id": "j", "status": "succeeded", "chat": "c", "kind": "files", "files": [file]})
        network(done, sse(b"x")).client.jobs.download_artifacts("j", chat="c", to=into)
    [made] = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert made.parent == into


def test_files_of_one_name_go_to_places_of_their_own(network: Networks, tmp_path: Path) -> None:
    """Also on a disk that takes capitals for small letters."""
    files = [{"id": "", "path": path, "file_name": path, "size_bytes": 1} for path in ("a/x.txt", "b/x.txt", "b/X.TXT")]
    done = answer(200, {"job_id": "j", "status": "succeeded", "chat": "c", "kind": "files", "files": files})
    places = network(done, *[sse(b"x")] * 3).client.jobs.download_artifacts("j", chat="c", to=tmp_path)
    assert len({place.name.casefold() for place in places}) == 3
