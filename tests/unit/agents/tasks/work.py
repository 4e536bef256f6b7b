"""Four tasks of an analyst: what is asked with which files, and whether what comes back is right by pandas."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Final

import openpyxl
import pandas as pd
import pptx
import pytest

from tests.unit.agents.tasks import material, minds_of_tables
from tests.unit.agents.tasks.asked import read, thoughts
from tests.unit.agents.tasks.material import Made
from tests.unit.agents.tasks.office import Done, Office

Task = Callable[[Office, Made], Done]


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


TASKS: Final[dict[str, Task]] = {
    "workbook of three sheets joined": workbook_joined,
    "table corrected, as a workbook": table_corrected,
    "deck of three slides": deck_made,
    "follow-up after kill -9": followed_up,
}
