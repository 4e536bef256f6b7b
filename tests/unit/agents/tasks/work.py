"""Ten tasks of an analyst: what is asked with which files, and whether what comes back is right by pandas."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import docx
import openpyxl
import pandas as pd
import pptx
import pytest
from PIL import Image

from tests.unit.agents.tasks import material, minds_of_tables, minds_of_texts
from tests.unit.agents.tasks.asked import plain, read, thoughts
from tests.unit.agents.tasks.material import Made
from tests.unit.agents.tasks.office import Done, Office
from tests.unit.service.site import html

Task = Callable[[Office, Made], Done]


def top_with_chart(office: Office, made: Made) -> Done:
    """With SQL that the engine does not take."""
    frame, most = material.sales(made), made.lot.randint(3, 6)
    label, _, _, measure = frame.columns
    total, path = made.column(), made.path("png")
    question = (
        f"Which {most} of {label} have the greatest total {measure}? Call the total `{total}`, and draw them as a bar "
        f"chart, `{path}`."
    )
    done = office.ask(question, minds_of_tables.top, [material.csv(made).of(frame)])
    wanted = material.first_of(frame, label, measure).head(most)
    assert done.output.splitlines()[:most] == [
        f"{place}. {name}: {amount:.2f}" for place, (name, amount) in enumerate(wanted.items(), 1)
    ]
    assert any(f"| {label} | {total} |" in plain(text) for text in done.results()), "the total's name"
    picture = Image.open(io.BytesIO(done.files[path])).convert("RGB")
    assert min(picture.size) > 300
    assert len(set(picture.get_flattened_data())) > 5, "the chart is blank"
    assert [one.partition(":")[0] for one in done.failures()] == ["Parser Error"]
    return done


def workbook_joined(office: Office, made: Made) -> Done:
    """With a column that is not there."""
    book = material.workbook(made)
    orders, customers, products = book.sheets
    buyer, good, pieces = orders.columns
    region, price = customers.columns[1], products.columns[1]
    total, path = made.column(), made.path("csv")
    question = f"Join the three sheets: the sum of {pieces} times {price} by {region}, as `{total}` in a file `{path}`."
    done = office.ask(question, minds_of_tables.joined, [book.file])
    whole = orders.merge(customers, left_on=buyer, right_on=customers.columns[0])
    whole = whole.merge(products, left_on=good, right_on=products.columns[0])
    whole[total] = whole[pieces] * whole[price]
    wanted = whole.groupby(region)[total].sum().round(2).sort_index()
    found = pd.read_csv(io.BytesIO(done.files[path])).set_index(region)[total].sort_index()
    pd.testing.assert_series_equal(found, wanted, check_names=False)
    assert len(done.failures()) == 2
    assert all("not found" in one or "does not have a column" in one for one in done.failures())
    return done


def scan_described(office: Office, made: Made) -> Done:
    file, pages = material.scan(made)
    done = office.ask("Describe what is on each page.", minds_of_texts.scanned, [file])
    lines = done.output.splitlines()[1:]
    assert len(lines) == len(pages)
    for line, there in zip(lines, pages, strict=True):
        said = line.partition(": ")[2].rstrip(".").split("; ")
        assert sorted(said) == sorted(f"{place} {colour}" for place, colour in there.items())
    return done


def brand_applied(office: Office, made: Made) -> Done:
    brand, path = material.brand(made), made.path("docx")
    question = f"Bring {brand.copy[0]} into line with our brand, as a Word document, `{path}`."
    done = office.ask(question, minds_of_texts.branded, [brand.rules, brand.copy])
    assert [each.text for each in docx.Document(io.BytesIO(done.files[path])).paragraphs] == brand.wanted
    return done


def page_summarised(office: Office, made: Made) -> Done:
    """The page that it links to is a stranger's: somebody is asked, and refuses; asked once more, they approve."""
    first, second = ([made.sentence() for _ in range(3)] for _ in range(2))
    here, there = (f"/{quote(made.word())}.html" for _ in range(2))
    link = f"<p><a href='{office.stranger.url}{there}'>{made.word()}</a></p>"
    for site, path, said, more in ((office.site, here, first, link), (office.stranger, there, second, "")):
        title, body = made.word(), "".join(f"<p>{one} {made.sentence()}</p>" for one in said)
        site.pages[path] = html(f"<title>{title}</title><main><h1>{title}</h1>{body}{more}</main>")
    path, reason = made.path("md"), made.sentence()
    question = f"Sum up {office.site.url}{here} and the page that it links to, in `{path}`."
    run = office.start(question, minds_of_texts.page)
    asked = office.approval(run)
    assert asked["input"]["url"] == f"{office.stranger.url}{there}"
    office.client.runs.refuse(run, asked["call_id"], reason=reason)
    refused = office.done(run)
    text = refused.files[path].decode()
    assert all(one in text for one in [*first, reason])
    assert not any(one in text for one in second)
    assert refused.failures() == [f"This call was refused. {reason}"]
    run = office.start(f"Read it now. {question}", minds_of_texts.page, chat=refused.run.chat)
    office.client.runs.approve(run, office.approval(run)["call_id"])
    approved = office.done(run)
    text = approved.files[path].decode()
    assert all(one in text for one in [*first, *second])
    assert reason not in text
    return approved.after(refused)


def table_corrected(office: Office, made: Made) -> Done:
    instead, path = made.lot.randint(2, 90), made.path("xlsx")
    form, dirty, tidy = material.untidy(made, instead)
    question = (
        f"Correct the table: no row twice, no blanks around texts, {instead} where {tidy.columns[2]} is empty. "
        f"I need it as an Excel workbook, `{path}`."
    )
    done = office.ask(question, minds_of_tables.tidied, [form.of(dirty)])
    head, *rows = openpyxl.load_workbook(io.BytesIO(done.files[path])).active.values
    assert list(head) == list(tidy.columns)
    assert [list(row) for row in rows] == tidy.to_numpy().tolist()
    return done


def deck_made(office: Office, made: Made) -> Done:
    frame = material.sales(made, groups=5)
    across, group, _, measure = frame.columns
    path = made.path("pptx")
    question = (
        f"A deck, `{path}`, with a slide for each {group}: the total {measure} in its title, and a chart by {across}."
    )
    done = office.ask(question, minds_of_tables.deck, [material.csv(made).of(frame)])
    slides = pptx.Presentation(io.BytesIO(done.files[path])).slides
    wanted = frame.groupby(group)[measure].sum()
    assert [slide.shapes.title.text for slide in slides] == [f"{name}: {total:.2f}" for name, total in wanted.items()]
    assert len(slides) == 3
    assert all(any(shape.shape_type == 13 for shape in slide.shapes) for slide in slides), "a slide has no picture"
    return done


def followed_up(office: Office, made: Made) -> Done:
    """The service is killed while the model is asked, and the next question is about the answer. What the model has
    thought goes back to it, also after the crash: its provider refuses a call without that."""
    frame = material.sales(made)
    label, _, _, measure = frame.columns
    totals = material.first_of(frame, label, measure)
    total, path = made.column(), made.path("csv")
    run_id = office.start(
        f"Which {label} has the greatest total {measure}? Save all totals, as `{total}`, in `{path}`.",
        minds_of_tables.leading,
        [material.csv(made).of(frame)],
        held=made.lot.randint(0, 2),
        effort="medium",
    )
    office.restart_in_the_middle()
    done = office.done(run_id)
    assert done.output.startswith(f"**{totals.index[0]}** leads.")
    assert len(done.of("run.resumed")) == 1
    assert thoughts(done.asked[-1]) == len(read(done.asked[-1]).made) > 0
    found = pd.read_csv(io.BytesIO(done.files[path])).set_index(label)[total]
    pd.testing.assert_series_equal(found, totals, check_names=False)
    next_one = office.ask("And what share of all is that?", minds_of_tables.share, chat=done.run.chat)
    share = float(next_one.output.partition(" %")[0])
    assert share == pytest.approx(100 * totals.iloc[0] / totals.sum(), abs=0.006)
    return next_one.after(done)


def survey_counted(office: Office, made: Made) -> Done:
    survey = material.survey(made)
    themes = "\n".join(f"- {name}: {', '.join(words)}" for name, words in survey.themes.items())
    theme, answers, path = made.column(), made.column(), made.path("csv")
    question = (
        f"How many answers in {survey.column} are about each of these? Save it as columns `{theme}` and `{answers}` of "
        f"`{path}`.\n{themes}"
    )
    done = office.ask(question, minds_of_texts.themes, [survey.file])
    found = pd.read_csv(io.BytesIO(done.files[path])).set_index(theme)[answers]
    assert found.to_dict() == survey.counts
    return done


def table_extracted(office: Office, made: Made) -> Done:
    (file, rows), path = material.price_list(made), made.path("csv")
    done = office.ask(f"Save the table in the PDF as `{path}`.", minds_of_texts.extracted, [file])
    found = pd.read_csv(io.BytesIO(done.files[path]), dtype=str)
    assert [list(found.columns), *found.to_numpy().tolist()] == rows
    return done


TASKS: Final[dict[str, Task]] = {
    "top products with chart": top_with_chart,
    "workbook of three sheets joined": workbook_joined,
    "scanned pages described": scan_described,
    "brand rules applied to copy": brand_applied,
    "web page summarised": page_summarised,
    "table corrected, as a workbook": table_corrected,
    "deck of three slides": deck_made,
    "follow-up after kill -9": followed_up,
    "survey counted by theme": survey_counted,
    "table of a PDF to CSV": table_extracted,
}
