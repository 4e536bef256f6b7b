"""An analyst's tasks from the question to the file, in each provider's form. The service, its tools and its sandbox are
real; a policy in the model's place decides by what each request holds. Files are opened and compared with pandas."""

from __future__ import annotations

import contextlib
import io
import random
import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final

import openpyxl
import pandas as pd
import pytest
from PIL import Image

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.runs import CENT, Run
from tests.service.agents.serving import Serving, model_settings, serving
from tests.support.sampling import sampled
from tests.support.tool_server import RunningToolServer, tool_server
from tests.support.waiting import until
from tests.unit.agents.wires.policies import Call, Policy, Request, Result, call, following
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Reply
from tests.unit.agents.wires.server import provider_server
from tests.unit.service import site

Thought = Generator[Call | tuple[Call, ...], Any, str | dict[str, Any]]
REGIONS: Final = ("Nord", "Süd", "Ost", "West")


class Desk:
    """Where a task is done: a service by one provider's form, web sites that it may read, and an MCP server."""

    def __init__(self, form: str, it: Serving, pages: site.Site, others: site.Site, tools: RunningToolServer) -> None:
        self.form, self.it, self.pages, self.others, self.tools = form, it, pages, others, tools
        self.client = it.client
        self.lot = random.Random(form)

    def start(
        self, question: str, policy: Policy, *files: tuple[str, bytes], writes: int | None = None, **options: Any
    ) -> str:
        self.it.server.answers(following(policy, writes))
        return self.client.runs.start(question, files=list(files), **options).run_id

    def finish(self, run_id: str) -> Run:
        run = self.client.runs.wait(run_id, poll=0.02, timeout=60)
        assert run.status == "completed", (run.last_error, run.last_error_message)
        assert self.it.server.refused == []
        return run

    def ask(self, question: str, policy: Policy, *files: tuple[str, bytes], **options: Any) -> Run:
        return self.finish(self.start(question, policy, *files, **options))

    def waiting_call(self, run_id: str, decided: Sequence[str] = ()) -> str:
        """Wait for the next call that waits for approval. Return its id, or `ended` if the run has."""

        def found() -> list[str]:
            events = self.client.runs.events(run_id, limit=1000).data
            calls = [event.payload["call_id"] for event in events if event.type == "approval.requested"]
            return [one for one in calls if one not in decided] or ["ended"] * (events[-1].type == "run.ended")

        return until(found)[0]

    def file(self, path: str, run: Run) -> io.BytesIO:
        return io.BytesIO(self.client.files.download(path, chat=run.chat))

    def table(self, path: str, run: Run) -> pd.DataFrame:
        return pd.read_csv(self.file(path, run))

    def sales(self, rows: int = 90) -> pd.DataFrame:
        made = [(self.lot.choice(REGIONS), self.lot.randint(1, 6), self.lot.randint(100, 99_999)) for _ in range(rows)]
        columns = {"month": [f"2026-{month:02}" for _, month, _ in made], "region": [each[0] for each in made]}
        return pd.DataFrame({**columns, "revenue": [cents / 100 for *_, cents in made]})


def german(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, sep=";", decimal=",").encode("cp1252")


def query(sql: str, **more: object) -> Call:
    return call("query_tables", sql=sql, **more)


def draws_bars(asked: Request) -> Thought:
    (table,), (target,) = asked.tables("month", "revenue"), asked.names
    sql = f"SELECT month, sum(revenue) AS total FROM {table.name} GROUP BY 1 ORDER BY 1"
    saved = yield query(sql, save_as="totals.csv")
    code = f"""
import pandas as pd, matplotlib.pyplot as plt
found = pd.read_csv({saved.find("rows to (.+?)[.] ")!r})
axes = plt.figure(figsize=(6, 4)).add_axes([0, 0, 1, 1])
axes.bar(range(len(found)), found["total"], width=1, color="red")
axes.set(xlim=(-0.5, len(found) - 0.5), ylim=(0, found["total"].max() * 1.25))
axes.axis("off")
plt.savefig({target!r}, dpi=100)
"""
    drawn = yield call("run_python", code=code)
    assert not drawn.is_error, drawn.text
    seen = f", {drawn.pictures[0].width} wide" if drawn.pictures else ", not looked at"
    return f"{target} has a bar for each month{seen}."


def chart(desk: Desk) -> None:
    sales = desk.sales()
    run = desk.ask("Draw the revenue by month as `chart.png`.", draws_bars, ("Umsatz 2026.csv", german(sales)))
    picture = Image.open(desk.file("chart.png", run)).convert("RGB")
    totals = sales.groupby("month")["revenue"].sum()
    for place, total in enumerate(totals):
        across = int((place + 0.5) * picture.width / len(totals))
        red = sum(picture.getpixel((across, down)) == (255, 0, 0) for down in range(picture.height))
        assert red == pytest.approx(picture.height * total / (totals.max() * 1.25), abs=2)
    assert ("600 wide" in str(run.output)) is (desk.form in ("responses", "anthropic", "google")), (
        "who sees has seen it"
    )


def joins(asked: Request) -> Thought:
    (orders,), (customers,) = asked.tables("customer_id", "pieces"), asked.tables("region")
    joined = f"FROM {orders.name} o LEFT JOIN {customers.name} c ON o.customer_id = c.{customers.columns[0]}"
    saved = yield query(
        f"SELECT coalesce(c.region, 'unknown') AS region, sum(pieces) AS pieces {joined} GROUP BY 1 ORDER BY 1",
        save_as=asked.names[0],
    )
    assert not saved.is_error, saved.text
    check = yield query(f"SELECT sum(pieces) FROM {orders.name}")
    return f"{check.rows()[0][0]} pieces in all, by region in `{asked.names[0]}`."


def join(desk: Desk) -> None:
    lot = desk.lot
    customers = pd.DataFrame(
        {"id": [f"K-{at}" for at in range(20)], "region": [lot.choice(REGIONS) for _ in range(20)]}
    )
    ids = [f"K-{lot.randint(0, 24)}" for _ in range(150)]
    orders = pd.DataFrame({"customer_id": ids, "pieces": [lot.randint(1, 9) for _ in ids]})
    book = io.BytesIO()
    customers.to_excel(book, index=False)
    files = (("orders.csv", german(orders)), ("customers.xlsx", book.getvalue()))
    run = desk.ask("How many pieces went to each region? Write `by-region.csv`.", joins, *files)
    whole = orders.merge(customers, left_on="customer_id", right_on="id", how="left").fillna({"region": "unknown"})
    wanted = whole.groupby("region")["pieces"].sum()
    pd.testing.assert_series_equal(
        desk.table("by-region.csv", run).set_index("region")["pieces"].sort_index(), wanted.sort_index()
    )
    assert str(run.output).startswith(f"{orders['pieces'].sum()} pieces in all")


def makes_a_workbook(asked: Request) -> Thought:
    sheets, (target,) = asked.tables("region", "revenue"), asked.names
    union = " UNION ALL ".join(f"SELECT region, revenue FROM {table.name}" for table in sheets)
    saved = yield query(
        f"SELECT region, round(sum(revenue), 2) AS revenue FROM ({union}) GROUP BY 1 ORDER BY 1", save_as="sums.csv"
    )
    assert not saved.is_error, saved.text
    code = f"""
import pandas as pd
from openpyxl import Workbook
from openpyxl.styles import Font
book = Workbook()
sheet = book.active
sheet.append(["region", "revenue"])
for row in pd.read_csv("sums.csv").itertuples(index=False):
    sheet.append(list(row))
last = sheet.max_row
sheet.append(["total", f"=SUM(B2:B{{last}})"])
for cell in sheet["1:1"]:
    cell.font = Font(bold=True)
for (cell,) in sheet[f"B2:B{{last + 1}}"]:
    cell.number_format = '#,##0.00 "€"'
book.save({target!r})
"""
    made = yield call("run_python", code=code)
    assert not made.is_error, made.text
    return f"`{target}` sums up {len(sheets)} sheets."


def workbook(desk: Desk) -> None:
    sheets = {month: desk.sales(30).drop(columns="month") for month in ("Januar", "Februar", "März")}
    book = io.BytesIO()
    with pd.ExcelWriter(book) as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False)
    question = "Sum up all sheets by region in the workbook `quarter.xlsx`, with a total."
    run = desk.ask(question, makes_a_workbook, ("Q1 2026.xlsx", book.getvalue()))
    assert run.output == "`quarter.xlsx` sums up 3 sheets."
    wanted = pd.concat(sheets.values()).groupby("region")["revenue"].sum().round(2)
    sheet = openpyxl.load_workbook(desk.file("quarter.xlsx", run)).active
    assert sheet is not None
    head, *rows, last = sheet.values
    assert (head, rows) == (("region", "revenue"), [*wanted.items()])
    assert last == ("total", f"=SUM(B2:B{len(wanted) + 1})")
    assert sheet["A1"].font.b
    assert sheet["B2"].number_format == '#,##0.00 "€"'


def compares_totals(asked: Request) -> Thought:
    (table,) = asked.tables("item", "cost")
    everything = yield query(f"SELECT round(sum(cost), 2) FROM {table.name}")
    row = everything.find(r"Row (\d+) left out as a total, although the other rows do not add up to it")
    return f"The items cost {everything.rows()[0][0]}. Row {row} says something else."


def wrong_total(desk: Desk) -> None:
    cents = [desk.lot.randint(100, 99_999) for _ in range(25)]
    lines = [f"Item {at},{each / 100:.2f}" for at, each in enumerate(cents)]
    data = "\n".join(["item,cost", *lines, f"Total,{sum(cents) / 100 + 90:.2f}"]).encode()
    run = desk.ask("What do we spend in all?", compares_totals, ("costs.csv", data))
    assert run.output == f"The items cost {sum(cents) / 100:.2f}. Row 27 says something else."


def reads_a_page_of_a_pdf(asked: Request) -> Thought:
    path = asked.attached
    text = yield call("read_file", path=path)
    pages = text.text.split("\f")
    page = next(number for number, each in enumerate(pages, 1) if asked.names[0] in each)
    answer = re.findall(r"[\d,]+ units", pages[page - 1])[0]
    if "look_at" not in asked.tools:
        return f"{answer} (page {page}); I can't see pictures."
    seen = yield call("look_at", path=path, page=page)
    (picture,) = seen.pictures
    shade = picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2))
    return f"{answer} (page {page}), by a {'blue' if shade[2] > 200 > shade[0] else 'white'} bar."


def pdf_page(desk: Desk) -> None:
    units = [f"{desk.lot.randint(1_000, 9_999):,} units" for _ in range(3)]
    texts = [f"Report {at}: Lamp {at} sold {each}." for at, each in enumerate(units, 1)]
    run = desk.ask("How many of `Lamp 2` were sold?", reads_a_page_of_a_pdf, ("report.pdf", pdf(texts, blue=2)))
    sees = desk.form in ("responses", "anthropic", "google")
    assert run.output == f"{units[1]} (page 2){', by a blue bar' if sees else '; I can' + chr(39) + 't see pictures'}."


def pdf(texts: list[str], blue: int) -> bytes:
    """A PDF with a page for each text, and a blue bar in the middle of one of them."""
    font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(texts)))
    parts = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>"]
    for at, text in enumerate(texts):
        drawn = f"BT /F 12 Tf 20 250 Td ({text}) Tj ET" + (" 0 0 1 rg 50 100 200 100 re f" if at + 1 == blue else "")
        page = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Resources {font} /Contents {4 + 2 * at} 0 R"
        parts += [f"<< {page} >>", f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"]
    body = "".join(f"{number} 0 obj\n{part}\nendobj\n" for number, part in enumerate(parts, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R /Size {len(parts) + 1} >>\n%%EOF".encode()


def follows_the_brand(asked: Request) -> Thought:
    rules = re.findall(r'Write "(.+?)", never "(.+?)"', asked.system)
    most = re.findall(r"at most (\d+) words", asked.system)
    assert len(rules) == 2, f"the rules are not told: {asked.system}"
    read = yield call("read_file", path=asked.attached)
    headline, *lines = read.text.splitlines()
    lines = [" ".join(headline.split()[: int(most[0])]), *lines]
    for right, wrong in rules:
        lines = [line.replace(wrong, right) for line in lines]
    yield call("write_file", path=asked.names[0], text="\n".join(lines))
    return "Done by the rules."


def brand_rules(desk: Desk) -> None:
    rules = b'- Write "lamp", never "luminaire".\n- Write "order", never "buy now".\n- Headlines: at most 4 words.\n'
    draft = b"The luminaire that everyone should buy now\n\nA luminaire for you. Please buy now."
    run = desk.ask("Put the draft right: `copy.md`.", follows_the_brand, ("draft.md", draft), ("BRAND.md", rules))
    made = desk.file("copy.md", run).read().decode()
    assert made == "The lamp that everyone\n\nA lamp for you. Please order."


def sums_up_a_page(asked: Request) -> Thought:
    url, text, start, length = asked.urls[0], "", 0, 1
    while start < length:
        page = yield call("read_page", url=url, start=start, length=3_000)
        part, _, place = page.text.partition("\n[characters ")
        text += part
        _, start, length = map(int, re.findall(r"\d+", place))
    prices = [float(price) for price in re.findall(r"\| *([\d.]+) EUR", text)]
    yield call("write_file", path=asked.names[0], text=f"{len(prices)} prices, {sum(prices):.2f} EUR in all, by {url}")
    return f"See `{asked.names[0]}`."


def web_page(desk: Desk) -> None:
    prices = [desk.lot.randint(100, 9_999) / 100 for _ in range(120)]
    rows = [
        f"<tr><td>A lamp of number {at}, for a table</td><td>{price} EUR</td></tr>" for at, price in enumerate(prices)
    ]
    table = f"<table><tr><th>lamp</th><th>price</th></tr>{''.join(rows)}</table>"
    desk.pages.pages["/prices"] = site.html(f"<title>Prices</title><h1>Prices</h1>{table}")
    url = f"{desk.pages.url}/prices"
    run = desk.ask(f"Sum up the prices of {url} in `prices.md`.", sums_up_a_page)
    assert desk.file("prices.md", run).read().decode() == f"120 prices, {sum(prices):.2f} EUR in all, by {url}"


def finds_the_leader(asked: Request) -> Thought:
    (table,) = asked.tables("region", "revenue")
    found = yield query(f"SELECT region, round(sum(revenue), 2) AS r FROM {table.name} GROUP BY 1 ORDER BY r DESC")
    return f"{found.rows()[0][0]} leads with {found.rows()[0][1]}."


def tells_the_share(asked: Request) -> Thought:
    leader, leading = re.findall(r"(\w+) leads with ([\d.]+)\.", asked.earlier[-1])[0]
    (table,) = asked.tables("revenue")
    found = yield query(f"SELECT sum(revenue) FROM {table.name}")
    return f"{leader}: {100 * float(leading) / float(found.rows()[0][0]):.1f} %"


def follow_up(desk: Desk) -> None:
    sales = desk.sales()
    run = desk.ask("Which region leads?", finds_the_leader, ("sales.csv", german(sales)))
    by_region = sales.groupby("region")["revenue"].sum()
    assert run.output == f"{by_region.idxmax()} leads with {by_region.max():.2f}."
    share = desk.ask("What share of all is that?", tells_the_share, chat=run.chat)
    assert share.output == f"{by_region.idxmax()}: {100 * by_region.max() / by_region.sum():.1f} %"


ITEM: Final = {"region": {"type": "string"}, "revenue": {"type": "number"}}
LEADERS: Final = {
    "type": "object",
    "properties": {
        "leaders": {
            "type": "array",
            "items": {"type": "object", "properties": ITEM, "required": [*ITEM], "additionalProperties": False},
        }
    },
    "required": ["leaders"],
    "additionalProperties": False,
}


def answers_by_the_schema(asked: Request) -> Thought:
    assert '"leaders"' in asked.whole, "the schema is not in the request"
    (table,) = asked.tables("region", "revenue")
    found = yield query(f"SELECT region, round(sum(revenue), 2) r FROM {table.name} GROUP BY 1 ORDER BY r DESC LIMIT 2")
    return {"leaders": [{"region": region, "revenue": float(revenue)} for region, revenue in found.rows()]}


def structured_output(desk: Desk) -> None:
    sales = desk.sales()
    run = desk.ask("The two best.", answers_by_the_schema, ("sales.csv", german(sales)), output_config=LEADERS)
    best = sales.groupby("region")["revenue"].sum().round(2).nlargest(2)
    assert run.structured_output == {"leaders": [{"region": name, "revenue": total} for name, total in best.items()]}


def finds_a_passage(asked: Request) -> Thought:
    path = asked.attached
    places = re.findall(r"^- (\d+): # (.+)$", asked.message, re.MULTILINE)
    start = next(int(at) for at, heading in places if heading == asked.names[0])
    found = yield call("search_files", query='"agreed discount"')
    assert path in found.text, found.text
    chapter = yield call("read_file", path=path, start=start, length=4_000)
    return chapter.find(r"The agreed discount is (\d+ %)")


def long_file(desk: Desk) -> None:
    discounts = {9: desk.lot.randint(3, 30), 21: desk.lot.randint(31, 60)}
    agreed = {at: f"The agreed discount is {most} %.\n" for at, most in discounts.items()}
    chapters = [f"# Chapter {at}\n{agreed.get(at, '')}{'Words of no weight. ' * 400}\n" for at in range(30)]
    text = "".join(chapters).encode()
    run = desk.ask("What is agreed in `Chapter 21`?", finds_a_passage, ("contract.md", text))
    assert run.output == f"{discounts[21]} %"
    said = [body.get("messages") or body.get("input") or body["contents"] for body in desk.it.server.asked]
    assert max(map(len, map(str, said))) < len(text) / 6, "it is never sent whole"


def follows_a_link(asked: Request) -> Thought:
    page = yield call("read_page", url=asked.urls[0])
    link = page.find(r"\]\((https?://[^)\s]+)\)")
    linked = yield call("read_page", url=link)
    assert linked.is_error, linked.text
    return f"{page.find('(The price is [0-9]+)')}. Not read: {link}, {linked.text}"


def refused_approval(desk: Desk) -> None:
    link = f"{desk.others.url}/terms"
    desk.pages.pages["/offer"] = site.html(f'<h1>Offer</h1><p>The price is 47. <a href="{link}">Terms</a></p>')
    run_id = desk.start(f"What does {desk.pages.url}/offer say?", follows_a_link)
    desk.client.runs.refuse(run_id, desk.waiting_call(run_id), reason="Not that host.")
    run = desk.finish(run_id)
    assert str(run.output).startswith(f"The price is 47. Not read: {link}, ")
    assert "Not that host." in str(run.output)
    assert desk.others.asked == []


def looks_a_ticket_up(asked: Request) -> Thought:
    found = yield call("small_look", text=asked.names[0])
    return f"It says: {found.text}"


def mcp_tool(desk: Desk) -> None:
    run = desk.ask("Look up `ticket 47` with the small server.", looks_a_ticket_up)
    assert run.output == "It says: look is done"
    assert desk.tools.calls()[-1] == "look ticket 47"


def learns_from_errors(asked: Request) -> Thought:
    (table,) = asked.tables("region", "revenue")
    first: Result = yield query(f"SELECT TOP 1 regions FROM {table.name}")
    second: Result = yield query(
        f"SELECT regions, sum(revenue) AS r FROM {table.name} GROUP BY 1 ORDER BY r DESC LIMIT 1"
    )
    third: Result = yield call("read_file", path=table.path.rpartition("/")[2])
    assert all(one.is_error for one in (first, second, third)), (first, second, third)
    listed = yield call(third.find(r"\. (list_files) lists"))
    assert table.path in listed.text, listed.text
    column = second.find(r'(?s)andidate.*?"?\b(region)\b')
    found = yield query(f"SELECT {column}, round(sum(revenue), 2) AS r FROM {table.name} GROUP BY 1 ORDER BY r LIMIT 1")
    return f"{found.rows()[0][0]}: {found.rows()[0][1]}"


def three_wrong_turns(desk: Desk) -> None:
    sales = desk.sales()
    run = desk.ask("Which region sells least?", learns_from_errors, ("sales.csv", german(sales)))
    by_region = sales.groupby("region")["revenue"].sum()
    assert run.output == f"{by_region.idxmin()}: {by_region.min():.2f}"
    results = [event.payload["is_error"] for event in desk.client.runs.events(run).data if event.type == "tool.result"]
    assert results == [True, True, True, False, False]


def saves_totals(asked: Request) -> Thought:
    (table,) = asked.tables("region", "revenue")
    sql = f"SELECT region, round(sum(revenue), 2) AS total FROM {table.name} GROUP BY 1 ORDER BY 2 DESC"
    saved = yield query(sql, save_as=asked.names[0])
    best = saved.rows()[0]
    checked = yield query(f"SELECT round(sum(revenue), 2) FROM {table.name}")
    return f"{best[0]} leads with {best[1]} of {checked.rows()[0][0]}."


def killed(desk: Desk) -> None:
    """Kill -9 while the model is asked: it goes on with what it had, and no call is made twice."""
    sales, provider = desk.sales(), PROVIDERS[desk.form]
    with provider_server(provider.form) as server, pytest.MonkeyPatch.context() as patch:
        model, settings = model_settings(provider, server, patch)
        with running_service(model, **settings) as service:
            policy = following(saves_totals)
            server.answers(policy, Reply(hangs=True), policy)
            with AgentService(service.api_key, service.base_url) as client:
                question, files = "Which region leads? Save all as `totals.csv`.", [("sales.csv", german(sales))]
                run_id = client.runs.start(question, files=files, effort="medium").run_id
                until(lambda: len(server.asked) == 2)
                service.kill()
                service.start()
                run = client.runs.wait(run_id, poll=0.05, timeout=120)
                by_region = sales.groupby("region")["revenue"].sum().round(2).sort_values(ascending=False)
                wanted = f"{by_region.index[0]} leads with {by_region.iloc[0]:.2f} of {sales['revenue'].sum():.2f}."
                assert (run.status, run.output, server.refused) == ("completed", wanted, []), run.last_error_message
                types = [event.type for event in client.runs.events(run_id, limit=1000).data]
                assert (types.count("run.resumed"), types.count("file.written"), len(server.asked)) == (1, 2, 4)
                found = pd.read_csv(io.BytesIO(client.files.download("totals.csv", chat=run.chat)))
    assert [*found["total"]] == [*by_region]


def stamps_a_draft(asked: Request) -> Thought:
    made = yield call("small_stamp", text="draft")
    return f"It says: {made.text}"


def edited_approval(desk: Desk) -> None:
    run_id = desk.start("Stamp the `draft` with the small server.", stamps_a_draft)
    desk.client.runs.approve(run_id, desk.waiting_call(run_id), input={"text": "final"})
    run = desk.finish(run_id)
    assert desk.tools.calls()[-1] == "stamp final"
    assert '"final"' in str(run.output), "the model is told what was changed"
    assert str(run.output).endswith("stamp is done")


def stamps_often(asked: Request) -> Thought:
    for at in range(18):
        yield call("small_stamp", text=f"{asked.names[0]} {at}")
    return "All is stamped."


def budget_warning(desk: Desk) -> None:
    """A run that would go past its limit completes, since the limit is raised when it says that it is near."""

    def stamped(**limit: float) -> Run:
        run_id = desk.start("Stamp `it` often with the small server.", stamps_often, writes=300, **limit)
        decided: list[str] = []
        while (waiting := desk.waiting_call(run_id, decided)) != "ended":
            decided.append(waiting)
            if near := [event for event in desk.client.runs.events(run_id).data if event.type == "limit.near"]:
                desk.client.runs.raise_limit(run_id, near[-1].payload["suggested_cents"])
            desk.client.runs.approve(run_id, waiting)
        return desk.finish(run_id)

    cost = stamped().usage.cost_microcents
    assert (cost == 0) is (desk.form in ("completions", "ollama")), "a server of one's own costs nothing"
    if cost:
        limit = cost * 9 // 10
        run = stamped(max_cents=limit / CENT)
        assert run.usage.cost_microcents > limit


def edits_the_list(asked: Request) -> Thought:
    found = yield call("search_files", query="lamp")
    old = found.find(r"(lamp,[\d.]+)")
    edited = yield call("edit_file", path=asked.attached, old=old, new=f"lamp,{asked.names[0]}")
    assert f"+lamp,{asked.names[0]}" in edited.text, edited.text
    yield call("write_file", path="log.md", text=f"{old} is now {asked.names[0]}")
    return "Changed."


def undo(desk: Desk) -> None:
    before = b"article,price\r\nlamp,47.11\r\ndesk,99.00\r\n"
    after = before.replace(b"47.11", b"39.90")
    run = desk.ask("The lamp costs `39.90` now.", edits_the_list, ("prices.csv", before))
    assert desk.file("uploads/prices.csv", run).read() == after
    desk.client.runs.undo(run)
    assert desk.file("uploads/prices.csv", run).read() == before
    assert "log.md" not in [file.path for file in desk.client.files.list(run.chat)]
    desk.client.runs.redo(run)
    assert desk.file("uploads/prices.csv", run).read() == after


def reads_all_pages(asked: Request) -> Thought:
    pages = yield tuple(call("read_page", url=url) for url in asked.urls)
    return f"{sum(int(page.find('The price is ([0-9]+)')) for page in pages)} EUR in all"


def parallel_pages(desk: Desk) -> None:
    """Each page answers once all three are asked."""
    prices, all_asked = [desk.lot.randint(1, 99) for _ in range(3)], threading.Barrier(3)

    def page(price: int) -> Callable[[site.Asked], site.Answer]:
        def answer(_: site.Asked) -> site.Answer:
            all_asked.wait(20)
            return site.html(f"<h1>Lamp</h1><p>The price is {price}.</p>")

        return answer

    paths = {f"/{desk.form}-{at}": page(price) for at, price in enumerate(prices)}
    desk.pages.pages |= paths
    urls = " and ".join(desk.pages.url + path for path in paths)
    assert desk.ask(f"Add up the prices of {urls}", reads_all_pages).output == f"{sum(prices)} EUR in all"


def remembers(asked: Request) -> Thought:
    kept = yield call("remember", rule=asked.names[0])
    assert not kept.is_error, kept.text
    return "From now on."


def applies_the_rule(asked: Request) -> Thought:
    rule = re.search(r"revenue means net: divide by ([\d.]+)", asked.system)
    assert rule, f"the rule is not told: {asked.system}"
    (table,) = asked.tables("revenue")
    found = yield query(f"SELECT round(sum(revenue) / {rule[1]}, 2) FROM {table.name}")
    return f"{found.rows()[0][0]} EUR net"


def quotes_its_query(asked: Request) -> Thought:
    yield from ()
    return re.findall(r"SELECT round\(.+? FROM \w+", "\n".join(asked.earlier))[0]


def memory(desk: Desk) -> None:
    """A rule is told in later chats of the project, and a query in later turns of its chat."""
    project = desk.client.projects.create(f"Sales {desk.form}").id
    run_id = desk.start("Remember: `revenue means net: divide by 1.19`.", remembers, project=project)
    desk.client.runs.approve(run_id, desk.waiting_call(run_id))
    desk.finish(run_id)
    sales = desk.sales()
    run = desk.ask("What is the revenue?", applies_the_rule, ("sales.csv", german(sales)), project=project)
    assert run.output == f"{sales['revenue'].sum() / 1.19:.2f} EUR net"
    again = desk.ask("How did you compute that?", quotes_its_query, chat=run.chat)
    assert again.output == "SELECT round(sum(revenue) / 1.19, 2) FROM sales"


def ticks_a_plan_off(asked: Request) -> Thought:
    (table,) = asked.tables("region", "revenue")
    for at, name in enumerate(asked.names, 1):
        if "plan" in asked.tools:
            states = ("done" if one < at else "doing" if one == at else "open" for one in range(1, 4))
            yield call(
                "plan", steps=[{"text": one, "state": state} for one, state in zip(asked.names, states, strict=True)]
            )
        yield query(f"SELECT {name}(revenue) FROM {table.name}")
    return "All three are there."


def plan(desk: Desk) -> None:
    question = "Compute `min`, `max` and `avg`."
    run = desk.ask(question, ticks_a_plan_off, ("sales.csv", german(desk.sales())))
    plans = [event.payload["steps"] for event in desk.client.runs.events(run).data if event.type == "plan.changed"]
    states = [[step["state"] for step in steps] for steps in plans]
    shown = [["doing", "open", "open"], ["done", "doing", "open"], ["done", "done", "doing"]]
    assert states == ([] if desk.form == "ollama" else shown), "a small context has no room for a plan"


TASKS: Final[tuple[Callable[[Desk], None], ...]] = (
    *(chart, join, workbook, wrong_total, pdf_page, brand_rules, web_page, follow_up, structured_output, long_file),
    *(refused_approval, edited_approval, budget_warning, undo, mcp_tool, parallel_pages, memory, plan),
    *(three_wrong_turns, killed),
)
FORMS: Final = (*PROVIDERS,)
EVERY: Final = [(form, task) for form in FORMS for task in TASKS]
"""By form, so that a form's service serves its tasks one after another."""
FEW: Final = [(form, task) for form, task in EVERY if FORMS[TASKS.index(task) % len(FORMS)] == form]


@pytest.fixture(scope="module")
def desks() -> Iterator[Callable[[str], Desk]]:
    """Open the desk of a form, once."""
    opened: dict[str, Desk] = {}
    with contextlib.ExitStack() as stack:
        pages, others = (stack.enter_context(site.serving(address)) for address in ("127.0.0.1", "127.0.0.2"))
        tools = stack.enter_context(tool_server())
        settings = {
            "approve_effects": "yes",
            "fetch_allow": f"{pages.authority},{others.authority}",
            "mcp_servers": f"small={tools.url}",
            "mcp_trusted": "small",
            "mcp_allow": tools.authority,
        }

        def open_desk(form: str) -> Desk:
            if form not in opened:
                it = stack.enter_context(serving(PROVIDERS[form], **settings))
                opened[form] = Desk(form, it, pages, others, tools)
            return opened[form]

        yield open_desk


@pytest.mark.parametrize(
    ("form", "task"), sampled(EVERY, *FEW), ids=lambda case: case if isinstance(case, str) else case.__name__
)
def test_a_task_is_done(desks: Callable[[str], Desk], form: str, task: Callable[[Desk], None]) -> None:
    task(desks(form))
