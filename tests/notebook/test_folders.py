"""The files of a chat as folders."""

from __future__ import annotations

import unicodedata

import pytest

from agentsvc_nb.notebook.files.folders import Folders, Order, above
from agentsvc_nb.wire.files import WorkspaceFile
from tests.notebook.allowlist import FORBIDDEN
from tests.notebook.test_hostile import HOSTILE


def file(path: str, size: int = 5, day: int = 1) -> WorkspaceFile:
    name = path.rsplit("/", 1)[-1]
    return WorkspaceFile(id="0", path=path, file_name=name, size_bytes=size, updated_at=f"2026-11-{day:02}T00:00:00Z")


FILES = [
    file("reports/2026/q3.md", 9, 3),
    file("reports/plan.md", 7, 9),
    file("reports0.md"),
    file("a.txt", 1, 5),
    file("reports/2026/q4.md", 2, 4),
]


def test_a_folder_lists_its_folders_then_its_files() -> None:
    folders = Folders(FILES)
    assert [entry.said for entry in folders.entries()] == ["reports/  (3 files)", "a.txt  (1 B)", "reports0.md  (5 B)"]
    assert [entry.path for entry in folders.entries("reports/")] == ["reports/2026/", "reports/plan.md"]
    assert [entry.said for entry in folders.entries("reports/2026/")] == ["q3.md  (9 B)", "q4.md  (2 B)"]
    assert folders.entries("nothing/") == []
    assert (len(folders), folders.bytes) == (5, 24)
    assert Folders([]).entries() == []


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("name", ["reports/2026/q3.md", "reports/2026/q4.md", "reports/plan.md"]),
        ("newest", ["reports/plan.md", "reports/2026/q4.md", "reports/2026/q3.md"]),
        ("largest", ["reports/2026/q3.md", "reports/plan.md", "reports/2026/q4.md"]),
    ],
)
def test_words_find_all_files_below_in_the_order_wished(order: Order, found: list[str]) -> None:
    assert [entry.path for entry in Folders(FILES).entries("reports/", "MD", order)] == found


def test_all_words_must_fit_in_any_case_and_however_letters_are_composed() -> None:
    folders = Folders([file(unicodedata.normalize("NFD", "Umsätze/Größe Ω.csv")), file("Umsatz.csv")])
    assert len(folders.entries("", "umsätze csv")) == 1
    assert len(folders.entries("", "GRÖSSE ω")) == 1
    assert folders.entries("", "umsätze missing") == []


def test_the_way_up_ends_at_the_top() -> None:
    assert [above(folder) for folder in ("a/b/c/", "a/", "")] == ["a/b/", "", ""]


def test_a_chat_of_many_files_is_narrowed_by_typing() -> None:
    one = file("")
    many = [one.model_copy(update={"path": f"part-{number % 100}/row-{number}.csv"}) for number in range(20_000)]
    folders = Folders(many)
    assert len(folders.entries()) == 100
    assert [entry.path for entry in folders.entries("", "row-19999")] == ["part-99/row-19999.csv"]


def test_hostile_names_are_harmless_text() -> None:
    entries = [entry for text in HOSTILE for entry in Folders([file(text)]).entries()]
    assert len(entries) == len(HOSTILE)
    assert [FORBIDDEN.findall(entry.said) for entry in entries] == [[]] * len(entries)
