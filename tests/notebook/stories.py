"""What the analyst's stories of `notebooks/` have to come to: their deliverables opened, and compared with pandas; and
the figures of their recorded answers, which no tool computed anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import nbformat
import pandas as pd
from PIL import Image


class Story:
    """A notebook that ran in its folder."""

    def __init__(self, notebook: nbformat.NotebookNode, folder: Path) -> None:
        self.folder = folder
        self.answers = "\n".join(
            output["data"]["text/plain"]
            for cell in notebook.cells
            if cell.source.startswith("%%ask")
            for output in cell.outputs
        )

    def data(self, name: str, **options: str | int) -> pd.DataFrame:
        return pd.read_csv(self.folder / "data" / name, **options)  # type: ignore[call-overload]

    def made(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / "deliverables" / name, keep_default_na=False)

    def text(self, name: str) -> str:
        return (self.folder / "deliverables" / name).read_text(encoding="utf-8")

    def says(self, *figures: str) -> None:
        missing = [figure for figure in figures if figure not in self.answers]
        assert not missing, f"the answers do not say {missing}"


def sales_review(story: Story) -> None:
    sales = story.data("sales.csv").assign(year=lambda rows: rows["month"].str[:4])
    by = sales.pivot_table(index=["region", "category"], columns="year", values="revenue_eur", aggfunc="sum")
    made = story.made("by-region-and-category.csv").set_index(["region", "category"])
    assert len(made) == len(by)
    for year in ("2025", "2026"):
        assert (made[f"revenue_{year}"] - by[year]).abs().max() < 0.01
    regions = by.groupby("region").sum()
    total = by.sum()
    review = story.text("review.md")
    for before, now in (*regions.itertuples(index=False), (total["2025"], total["2026"])):
        row = f"{before:,.0f} | {now:,.0f} | {_signed(100 * (now / before - 1), 1)} %"
        assert row in review
    story.says(f"EUR {total['2026']:,.0f}, {100 * (total['2026'] / total['2025'] - 1):.1f} % above")
    footwear = sales[sales["region"].eq("DACH") & sales["category"].eq("footwear")]
    months = footwear.pivot_table(index=footwear["month"].str[5:], columns="year", values="revenue_eur", aggfunc="sum")
    changes = 100 * (months["2026"] / months["2025"] - 1)
    story.says(f"July {_signed(changes['07'], 1)} %, August {_signed(changes['08'], 1)} %")
    gap = months.loc[["07", "08"]].sum()
    before, now = gap["2025"], gap["2026"]
    assert f"EUR {now:,.0f} after EUR {before:,.0f}, a gap of EUR {before - now:,.0f}" in review


def survey(story: Story) -> None:
    answers = story.data("survey.csv")
    for name, group in (("all", answers), *answers.groupby("customer")):
        score = group["score"]
        nps = round(100 * (score.ge(9).mean() - score.le(6).mean()))
        parts = f"{len(group)} | {score.ge(9).sum()} | {score.le(6).sum()} | {_signed(nps, 0)} | {score.mean():.1f}"
        story.says(f"| {name} | {parts} |")
    themes = story.made("themes.csv")
    assert list(themes["response_id"]) == list(answers["response_id"])
    coded = answers.merge(themes, on="response_id")
    for theme, group in coded.groupby("theme"):
        tone, new = group["tone"], group["customer"].eq("new").sum()
        parts = f"{tone.eq('praise').sum()} | {tone.eq('complaint').sum()} | {new} | {group['score'].mean():.1f}"
        story.says(f"| {theme} | {len(group)} | {parts} |")
    comments = dict(zip(answers["response_id"], answers["comment"], strict=True))
    quoted = re.findall(r'\*"([^"]+)"\* \((R\d\d)\)', story.answers)
    assert len(quoted) == 3
    assert all(comments[number] == said for said, number in quoted)


def ad_export(story: Story) -> None:
    report = story.data("ad-export.csv", sep=";", decimal=",", thousands=".", encoding="cp1252", skiprows=3)
    weeks = report[report["Kampagne"].notna()].drop_duplicates()
    assert len(report) - len(weeks) == 2, "the total, and what was exported twice"
    sums = weeks.groupby("Kampagne")[["Ausgaben (EUR)", "Käufe", "Umsatz (EUR)"]].sum()
    sums.columns = pd.Index(["spend_eur", "purchases", "revenue_eur"])
    sums["profit_eur"] = 0.4 * sums["revenue_eur"] - sums["spend_eur"]
    made = story.made("campaigns.csv").set_index("campaign")
    assert (made[list(sums.columns)] - sums).abs().max().max() < 0.01
    losing = sums[sums["profit_eur"] < 0]
    total = sums.sum()
    story.says(f"EUR {-losing['profit_eur'].sum():,.0f} in four weeks", f"earns EUR {total['profit_eur']:,.0f}")
    for name, row in losing.iterrows():
        roas = row["revenue_eur"] / row["spend_eur"]
        story.says(f"| {name} | {row['spend_eur']:,.0f} | {row['revenue_eur']:,.0f} |", f"{roas:.2f}")
    plan = story.made("plan.csv").set_index("campaign")
    assert ((plan["weekly_eur_now"] - sums["spend_eur"] / 4).abs() < 0.01).all()
    assert plan["weekly_eur_then"].sum() <= plan["weekly_eur_now"].sum()
    assert set(plan.index[plan["action"] == "pause"]) < set(losing.index)
    figures = f"{total['purchases']:,.0f} purchases and EUR {total['revenue_eur']:,.0f}"
    assert f"{figures} of revenue for EUR {total['spend_eur']:,.0f}" in story.text("mail.md")


def brief_to_ads(story: Story) -> None:
    texts = story.made("search-ads.csv")
    lengths = texts["text"].str.len()
    assert list(lengths) == list(texts["characters"])
    for kind, count, most in (("headline", 6, 30), ("description", 3, 90)):
        assert (texts["type"] == kind).sum() == count
        assert lengths[texts["type"] == kind].max() <= most
    pictures = sorted((story.folder / "deliverables").glob("*.png"))
    assert len(pictures) == 3
    for path in pictures:
        with Image.open(path) as picture:
            assert min(picture.size) >= 1000
    assert "cheap" not in texts["text"].str.cat(sep=" ").casefold()


def price_lists(story: Story) -> None:
    old = story.data("supplier-2026.csv").set_index("sku")["unit_cost_eur"]
    new = story.data("supplier-2027.csv", sep=";").set_index("Article no.")["Net price EUR"]
    new.index = new.index.str.upper().str.replace("FJ", "FJ-")
    both = pd.DataFrame({"old": old, "new": new})
    made = story.made("price-changes.csv").set_index("sku")
    rise = (100 * (both["new"] / both["old"] - 1)).round(1)
    expected = {"new": both["old"].isna(), "gone": both["new"].isna(), "dearer": rise > 0, "cheaper": rise < 0}
    for change, which in expected.items():
        assert set(made.index[made["change"] == change]) == set(both.index[which])
    for number in rise.index[rise > 5]:
        costs = f"{both['old'][number]:.2f} | {both['new'][number]:.2f} | {_signed(rise[number], 1)} %"
        story.says(f"| {number} | {made['item'][number]} | {costs} |")
    shop = story.data("shop-prices.csv").set_index("sku")["shop_price_eur"]
    margin = 100 * (1 - both["new"] * 1.19 / shop)
    proposed = story.made("proposed-prices.csv").set_index("sku")["proposed_eur"]
    assert set(proposed.index) == set(margin.index[margin < 45])
    assert (100 * (1 - both["new"][proposed.index] * 1.19 / proposed) >= 45).all()


def _signed(value: float, decimals: int) -> str:
    return f"{value:+.{decimals}f}".replace("-", "−")


CHECKS: Final[Mapping[str, Callable[[Story], None]]] = {
    "sales-review": sales_review,
    "survey": survey,
    "ad-export": ad_export,
    "brief-to-ads": brief_to_ads,
    "price-lists": price_lists,
}
