"""Minds for tasks about pictures, pages and texts."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise

from PIL import Image

from tests.unit.agents.tasks.asked import Asked
from tests.unit.agents.tasks.minds import Thought, call
from tests.unit.agents.tasks.minds_of_tables import kept, looked_into, named, reading


def scanned(asked: Asked) -> Thought:
    """What is on the pages of a PDF that has no text."""
    (path,) = asked.paths()
    text = yield call("read_file", path=path)
    pages = re.search(r"its (\d+) pages are pictures", text.text)
    assert pages is not None, text.text
    lines = []
    for page in range(1, int(pages[1]) + 1):
        shown = yield call("look_at", path=path, page=page)
        (picture,) = shown.pictures
        lines.append(f"- Page {page}: {'; '.join(_seen(picture.convert('RGB')))}.")
    return "\n".join([f"`{path}` is scanned.", *lines])


def _seen(picture: Image.Image) -> list[str]:
    """The coloured areas in the quarters of a page."""
    width, height = picture.size
    found = []
    for top, vertical in ((0, "upper"), (height // 2, "lower")):
        for left, horizontal in ((0, "left"), (width // 2, "right")):
            quarter = picture.crop((left, top, left + width // 2, top + height // 2)).resize((60, 80))
            colours = [one for one in map(_colour, quarter.get_flattened_data()) if one]
            if len(colours) > 100:
                found.append(f"{vertical} {horizontal} {max(set(colours), key=colours.count)}")
    return found


def _colour(pixel: object) -> str:
    assert isinstance(pixel, tuple)
    bright = "".join("x" if value > 128 else "-" for value in pixel)
    names = {"x--": "red", "-x-": "green", "--x": "blue", "xx-": "yellow", "x-x": "magenta", "-xx": "cyan"}
    return names.get(bright, "")


def branded(asked: Asked) -> Thought:
    """A copy with the brand's rules applied, as a document. The rules stand in the instructions."""
    (path,) = (path for path in asked.paths() if path.rpartition("/")[2] in asked.question)
    (target,) = asked.names()
    instead = re.findall(r'Never write "(.+?)": write "(.+?)"', asked.system)
    most, end = (re.search(rule, asked.system) for rule in (r"at most (\d+) words", r'ends with "(.+?)"'))
    assert instead, asked.system
    assert most is not None
    assert end is not None
    found = yield call("read_file", path=path)
    headline, *lines = found.text.removeprefix("# ").split("\n\n")
    lines = [" ".join(headline.split()[: int(most[1])]), *lines, end[1]]
    for wrong, right in instead:
        lines = [line.replace(wrong, right).strip() for line in lines]
    code = (
        f"{kept(target)}from docx import Document\nmade = Document()\n"
        f"head, *lines = {lines!r}\nmade.add_heading(head)\n"
        f"for line in lines:\n    made.add_paragraph(line)\nmade.save({target!r})"
    )
    written = yield call("run_python", code=code)
    assert not written.failed, written.text
    return f"`{written.written()}` is `{path}` by the brand's rules: {len(instead)} words, headline and end."


def page(asked: Asked) -> Thought:
    """A page and the one that it links to, in short. Where the second may not be read, that is said."""
    (path,) = asked.names()
    address = re.search(r"https?://\S+[\w/]", asked.question)
    assert address is not None
    first = yield call("read_page", url=address[0])
    said = [_short(first.text)]
    link = re.search(r"\]\((https?://[^)\s]+)\)", first.text)
    assert link is not None, first.text
    second = yield call("read_page", url=link[1])
    said.append(f"Not read: {link[1]} ({second.text})" if second.failed else _short(second.text))
    written = yield call("write_file", path=path, text="\n\n".join(said))
    return f"`{written.written()}` has the summary of {address[0]}.\n\n{said[-1]}"


def _short(text: str) -> str:
    """The first sentence of each paragraph."""
    head, *paragraphs = text.split("\n\n")
    sentences = [each.split(". ")[0].rstrip(".") + "." for each in paragraphs if each.startswith("The ")]
    return "\n".join([f"## {head}", *sentences])


def themes(asked: Asked) -> Thought:
    """How many answers have words of each theme; the themes stand in the question."""
    (table,) = asked.tables()
    theme, answers, path = asked.names()
    (column,) = named(asked.question, (yield from looked_into(table)))
    words = {theme: said.split(", ") for theme, said in re.findall(r"^- (.+?): (.+)$", asked.question, re.MULTILINE)}
    code = (
        f"{kept(path)}import pandas as pd\ntexts = {reading(asked, table.path)}[{column!r}].fillna('').str.casefold()\n"
        f"themes = {words!r}\n"
        "counts = {theme: sum(any(w.casefold() in text for w in words) for text in texts) "
        "for theme, words in themes.items()}\n"
        f"pd.Series(counts, name={answers!r}).rename_axis({theme!r}).to_csv({path!r})\nprint(counts)"
    )
    made = yield call("run_python", code=code)
    assert not made.failed, made.text
    return f"`{made.written()}` has the counts over `{table.path}`: {made.text.splitlines()[0]}"


def extracted(asked: Asked) -> Thought:
    """The table in a PDF's text, as CSV."""
    (path,), (target,) = asked.paths(), asked.names()
    found = yield call("read_file", path=path)
    lines = [line.split() for line in found.text.splitlines()]
    rows = [line for line in lines if len(line) == 3 and re.fullmatch(r"[\d.]+", line[-1])]
    head = next(before for before, line in pairwise(lines) if line == rows[0])
    text = io.StringIO()
    csv.writer(text).writerows([head, *rows])
    written = yield call("write_file", path=target, text=text.getvalue())
    checked = yield call("profile_table", path=written.written())
    count = re.search(r"(\d+) rows", checked.text)
    assert count is not None, checked.text
    assert int(count[1]) == len(rows), checked.text
    return f"`{written.written()}` has the {len(rows)} rows of the table in `{path}`."
