"""The notebooks run from top to bottom on a fresh machine, and show what is stored in them; what the stories among them
make is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from pathlib import Path
from typing import Final

import nbformat
import pandas as pd
import pytest

from docs import notebooks


class Story:
    """A notebook that ran in its folder."""

    def __init__(self, notebook: nbformat.NotebookNode, folder: Path) -> None:
        self.folder = folder
        asked = [cell for cell in notebook.cells if cell.source.startswith("%%ask")]
        self.answers = "\n".join(output["data"]["text/plain"] for cell in asked for output in cell.outputs)

    def data(self, name: str, **options: str | int) -> pd.DataFrame:
        return pd.read_csv(self.folder / "data" / name, **options)  # type: ignore[call-overload]

    def made(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / "deliverables" / name, keep_default_na=False)

    def says(self, *figures: str) -> None:
        assert [figure for figure in figures if figure not in self.answers] == []


def sales_review(story: Story) -> None:
    sales = story.data("sales.csv").assign(year=lambda rows: rows["month"].str[:4])
    by = sales.pivot_table(index=["region", "category"], columns="year", values="revenue_eur", aggfunc="sum")
    made = story.made("by-region-and-category.csv").set_index(["region", "category"])
    assert len(made) == len(by)
    for year in ("2025", "2026"):
        assert (made[f"revenue_{year}"] - by[year]).abs().max() < 0.01
    total = by.sum()
    story.says(f"EUR {total['2026']:,.0f}, {100 * (total['2026'] / total['2025'] - 1):.1f} % above")


def survey(story: Story) -> None:
    answers = story.data("survey.csv")
    for name, group in (("all", answers), *answers.groupby("customer")):
        score = group["score"]
        nps = f"{round(100 * (score.ge(9).mean() - score.le(6).mean())):+.0f}".replace("-", "−")
        counts = f"{len(group)} | {score.ge(9).sum()} | {score.le(6).sum()}"
        story.says(f"| {name} | {counts} | {nps} | {score.mean():.1f} |")
    comments = dict(zip(answers["response_id"], answers["comment"], strict=True))
    quoted = re.findall(r'\*"([^"]+)"\* \((R\d\d)\)', story.answers)
    assert len(quoted) == 3
    assert all(comments[number] == said for said, number in quoted)


def ad_export(story: Story) -> None:
    """The export has a total row, and one row twice: neither may be counted."""
    report = story.data("ad-export.csv", sep=";", decimal=",", thousands=".", encoding="cp1252", skiprows=3)
    weeks = report[report["Kampagne"].notna()].drop_duplicates()
    assert len(report) - len(weeks) == 2
    sums = weeks.groupby("Kampagne")[["Ausgaben (EUR)", "Käufe", "Umsatz (EUR)"]].sum()
    sums.columns = pd.Index(["spend_eur", "purchases", "revenue_eur"])
    sums["profit_eur"] = 0.4 * sums["revenue_eur"] - sums["spend_eur"]
    made = story.made("campaigns.csv").set_index("campaign")
    assert (made[list(sums.columns)] - sums).abs().max().max() < 0.01
    losing = sums["profit_eur"].clip(upper=0).sum()
    story.says(f"EUR {-losing:,.0f} in four weeks", f"earns EUR {sums['profit_eur'].sum():,.0f}")


CHECKS: Final[Mapping[str, Callable[[Story], None]]] = {
    "sales-review": sales_review,
    "survey": survey,
    "ad-export": ad_export,
}


ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EACH_TIME = ("quickstart",)
"""The others run in CI (`tests/docs`)."""
COMPARED = ("text", "ename", "evalue")


def differing() -> list[tuple[str, str]]:
    """What differs from run to run, and what stands for it: the file is in nbval's format, which users can take."""
    sections = ConfigParser(interpolation=None)
    sections.read(Path(__file__).with_name("notebooks-sanitize.cfg"))
    return [(sections[name]["regex"], sections[name]["replace"]) for name in sections.sections()]


def shown(cell: nbformat.NotebookNode) -> list[dict[str, str]]:
    """What a cell shows, by type, without what differs from run to run."""
    found = []
    for output in cell.get("outputs", []):
        parts = {name: output[name] for name in COMPARED if name in output} | dict(output.get("data", {}))
        for pattern, stand_in in differing():
            parts = {kind: re.sub(pattern, stand_in, str(part)) for kind, part in parts.items()}
        found.append(parts)
    return found


def runs_and_shows_what_is_stored(path: Path, folder: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    with notebooks.fresh_service() as env:
        ran = notebooks.run(path, env, folder)
    for cell, before in zip(ran.cells, stored.cells, strict=True):
        outputs = cell.get("outputs", [])
        assert len(outputs) <= 1, f"more than one output: {cell.source}"
        assert "widget" not in str(outputs)
        assert shown(cell) == shown(before), cell.source
    if check := CHECKS.get(path.stem):
        check(Story(ran, folder))


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in EACH_TIME], ids=lambda path: path.name)
def test_it_runs_from_top_to_bottom_and_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    runs_and_shows_what_is_stored(path, tmp_path / "notebooks")
