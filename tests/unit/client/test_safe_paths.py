"""Where downloads go, whatever the service calls its files."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.client import uploads

if sys.version_info >= (3, 13):
    from ntpath import isreserved as is_reserved
else:

    def is_reserved(name: str) -> bool:
        return PureWindowsPath(name).is_reserved()


NASTY = st.text(st.sampled_from("./\\:~ aA\u202e\u200b\x00\n*%\ud800é…CONaux1$¹"), max_size=300)
PATHS = st.one_of(st.text(max_size=300), NASTY)


@given(PATHS)
def test_whatever_the_path_the_name_stays_in_its_folder(path: str) -> None:
    name = uploads.safe_name(path)
    for kind in (PurePosixPath, PureWindowsPath):
        assert kind(name).name == name
        assert not kind(name).is_absolute()
    assert not is_reserved(name)
    assert not name.startswith((".", " "))
    assert not name.endswith((".", " "))
    assert len(os.fsencode(name)) <= 201
    assert not {unicodedata.category(char) for char in name} & {"Cc", "Cs"}


@given(st.lists(PATHS, max_size=8))
def test_names_are_distinct(paths: list[str]) -> None:
    names = uploads.distinct_names(paths)
    assert len({name.casefold() for name in names}) == len(paths)
    assert all(uploads.safe_name(name) == name for name in names if len(name) < 60)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("out/plan.md", "plan.md"),
        ("../../.bashrc", "_bashrc"),
        (".", "_"),
        ("...", "_"),
        ("aux", "_aux"),
        ("COM¹.txt", "_COM¹.txt"),
        ("nul .txt", "_nul .txt"),
        ("conout$", "_conout$"),
        ("console.txt", "console.txt"),
        ("a\u200bb.txt", "a_b.txt"),
        ("C:\\Windows\\x.dll", "C__Windows_x.dll"),
        ("x" * 300 + ".csv", "x" * 196 + ".csv"),
    ],
)
def test_names(path: str, name: str) -> None:
    assert uploads.safe_name(path) == name


def test_a_folder_is_made_where_one_is_meant(tmp_path: Path) -> None:
    assert uploads.download_target(f"{tmp_path}/new/", "a/b.txt") == tmp_path / "new" / "b.txt"
    assert uploads.download_target(tmp_path, "a/b.txt") == tmp_path / "b.txt"
    assert uploads.download_target(tmp_path / "c.txt", "a/b.txt") == tmp_path / "c.txt"
