"""The files of a chat as folders."""

from __future__ import annotations

import unicodedata

import pytest

from agentsvc_nb.notebook.files.folders import Folders, Sort, above, position
from agentsvc_nb.notebook.widgets.browser_rows import row
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
    assert [entry.name for entry in folders.entries()] == ["reports/", "a.txt", "reports0.md"]
    reports = folders.entries()[0]
    assert (reports.count, reports.size_bytes, reports.updated_at) == (3, 18, "2026-11-09T00:00:00Z")
    assert [entry.path for entry in folders.entries("reports/")] == ["reports/2026/", "reports/plan.md"]
    assert [entry.name for entry in folders.entries("reports/2026/")] == ["q3.md", "q4.md"]
    assert folders.entries("nothing/") == []
    assert (len(folders), folders.bytes) == (5, 24)
    assert Folders([]).entries() == []


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        (Sort(), ["reports/2026/q3.md", "reports/2026/q4.md", "reports/plan.md"]),
        (Sort("name", descending=True), ["reports/plan.md", "reports/2026/q4.md", "reports/2026/q3.md"]),
        (Sort("when", descending=True), ["reports/plan.md", "reports/2026/q4.md", "reports/2026/q3.md"]),
        (Sort("size", descending=True), ["reports/2026/q3.md", "reports/plan.md", "reports/2026/q4.md"]),
        (Sort("kind"), ["reports/2026/q3.md", "reports/2026/q4.md", "reports/plan.md"]),
    ],
)
def test_words_find_all_files_below_sorted_as_wished(sort: Sort, found: list[str]) -> None:
    assert [entry.path for entry in Folders(FILES).entries("reports/", "MD", sort)] == found


def test_folders_stay_first_however_a_list_is_sorted() -> None:
    files = [file("z.md", 99), file("big/a.md", 9), file("small/a.md", 1), file("B.md", 5)]
    assert [entry.name for entry in Folders(files).entries()] == ["big/", "small/", "B.md", "z.md"]
    assert [entry.name for entry in Folders(files).entries(sort=Sort("size"))] == ["small/", "big/", "B.md", "z.md"]


def test_a_name_is_found_by_its_beginning_from_a_place_on_and_around() -> None:
    entries = Folders([file(name) for name in ("beta", "Bravo", "alpha", "ärger")]).entries()
    assert [entry.name for entry in entries] == ["alpha", "beta", "Bravo", "ärger"]
    assert [position(entries, beginning="b", start=at) for at in (0, 1, 2, 3)] == [1, 1, 2, 1]
    assert position(entries, beginning=unicodedata.normalize("NFD", "ÄR")) == 3
    assert position(entries, beginning="x") == -1
    assert (position(entries, "Bravo"), position(entries, "gone")) == (2, -1)


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
    assert [part for entry in entries for part in row(entry) if FORBIDDEN.search(part)] == []
