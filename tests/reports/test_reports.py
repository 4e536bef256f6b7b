"""Inputs rebuilt from public reports are answered right or not at all.

`reports/cases.json` lists files, questions and what is `right`: values of which one must be among the answer's first
two, or None where only a question back is right. `SIBLINGS` are other inputs of the same kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService

FOLDER: Final = Path(__file__).with_name("data")
CASES: Final[list[dict[str, Any]]] = json.loads((FOLDER / "cases.json").read_text("utf-8"))
REFUSED: Final = frozenset({"N30"})
"""Cases without an answer, though there is one."""
CUBE: Final = (
    "Year,Town,Sex,N\n2021,A,F,412\n2021,A,M,398\n2021,A,Both,810\n2021,B,F,1210\n2021,B,M,1188\n2021,B,Both,2398\n"
    "2022,A,F,420\n2022,A,M,401\n2022,A,Both,821\n2022,B,F,1225\n2022,B,M,1190\n2022,B,Both,2415\n"
)
SIBLINGS: Final[dict[str, tuple[str, str, str, str | None]]] = {
    "totals of parts": (
        "a.csv", "Ad,Clicks\nA,1204\nB,2310\nC,87\nTotal Search,3514\nTotal Shop,87\nTotal,3601\n",
        "What is the total of Clicks?", "3601",
    ),
    "a wine shop before the total": (
        "a.csv", "Shop,Units\nSpar,10\nAldi,25\nTotal Wine,31\nTotal,66\n", "What is the total of Units?", "66",
    ),
    "a last row that is the sum, but complete": (
        "a.csv", "Box,Room,N\nx,a,184\ny,b,236\nz,c,420\n", "What is the total of N?", "840",
    ),
    "a label for both": ("a.csv", CUBE, "What is the total of N?", "6444"),
    "a count at the end": (
        "a.csv", "Ad,State,Spend,CPM\nA,on,310.5,18\nB,on,95,21\nC,off,142,9\nAds: 3,,547.5,15.5\n",
        "What is the average of Spend?", "182.5",
    ),
    "max and mean below the total": (
        "a.csv", "Town,N\nA,140\nB,260\nC,290\nTotal,690\nMean,230\nMax,290\n", "What is the highest N?", "290",
    ),
    "rows below the total": (
        "a.csv", "Town,N\nA,140\nB,260\nC,290\nTotal,690\nMean,230\nMax,290\n", "How many rows are there?", "3",
    ),
    "years among months": (
        "a.csv", "When,N\n2022 Apr-Jun,118\n2022 Jul-Sep,126\n2022,244\n", "What is the total of N?", "244",
    ),
    "pages": (
        "a.csv",
        "Id,Who,N\nx1,A,120\nx2,B,81\nto page 2,,201\nPage 2,,\nId,Who,N\nfrom page 1,,201\nx3,C,240\nx4,D,9\n",
        "What is the total of N?", "450",
    ),
    "opening and closing balance": (
        "a.csv", "Opening;;1.310,75\nDay;Who;Sum\n03.05.2026;A;2.450,00\n06.05.2026;B;-880,50\n07.05.2026;C;-12,30\n"
        "10.05.2026;D;1,00\nClosing;;2.868,95\n", "What is the total of Sum?", "1558.2",
    ),
    "days or months, grouped": ("a.csv", "day,n\n03/04/2024,10\n04/03/2024,25\n", "total n by day", None),
    "days or months, not used": ("a.csv", "day,n\n03/04/2024,10\n04/03/2024,25\n", "total n", "35"),
    "days or months, decided": (
        "a.csv", "day,n\n13/04/2024,10\n04/03/2024,25\n", "What is the total of n in March 2024?", "25",
    ),
    "decimals or thousands": ("a.tsv", "shop\tn\na\t1.234\nb\t5.678\n", "What is the total of n?", None),
    "decimals, decided": ("a.tsv", "shop\tn\na\t1.234\nb\t5.67\n", "What is the total of n?", "6.904"),
    "labels of groups": (
        "a.csv", "Region,Item,N\nNorth,Tea,1\n,Milk,2\nSouth,Tea,3\n,Milk,5\n",
        "What is the total of N for North?", "3",
    ),
    "labels that may be of groups": (
        "a.csv", "Region,Item,N\nNorth,Tea,1\n,Tea,2\nSouth,Tea,3\n,Tea,5\n", "What is the total of N for North?", None,
    ),
    "a tab-delimited text": ("a.txt", "Tree\tCount\rOak\t31\rYew\t25\r", "What is the total of Count?", "56"),
    "a text with semicolons": ("a.txt", "Tree;Count\nOak;31\nYew;25\n", "What is the total of Count?", "56"),
    "sentences with commas": ("a.txt", "Dear Ann, hello.\nWe met, I think.\nWrite, please.\n", "total n", None),
    "a mark of missing values": (
        "a.csv", "Day,Rain\n1,5\n2,x\n3,7\n4,3\n5,1\n\nx: not measured\n", "What is the average of Rain?", "4",
    ),
    "an unexplained mark": ("a.csv", "Day,Rain\n1,5\n2,x\n3,7\n4,3\n5,1\n", "What is the average of Rain?", None),
    "a name too few": ("a.csv", "A,B\n5,1,4\n7,2,5\n", "What is the total of B?", None),
    "two columns of one name": ("a.csv", "A,B,B\na,1,4\nb,2,5\n", "What is the total of B?", None),
    "a name in camel case": ("a.csv", "x,inMyArea\na,1\nb,2\n", "What is the total of inmyarea?", "3"),
    "errors beside numbers": ("a.csv", "A,B\na,1\nb,#DIV/0!\nc,3\nd,#N/A\n", "What is the highest B?", "3"),
    "several footnotes": (
        "a.html", "<table><tr><th>A<th>N<tr><td>a<td>506<sup>1,3</sup><tr><td>b<td>4<sup>a; b</sup></table>",
        "What is the total of N?", "510",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def asking(offline_service: RunningService) -> Iterator[AgentService]:
    with AgentService(offline_service.api_key, offline_service.base_url) as client:
        yield client


def ask(client: AgentService, name: str, data: bytes, question: str) -> tuple[bool, list[str], str]:
    """Return whether the answer claims a result, its values, and what it says."""
    run = client.runs.start(question, files=[(name, data)], sync=True)
    told = [event.payload for event in client.runs.events(run.run_id, limit=1000).data if event.type == "answer.basis"]
    basis: dict[str, Any] = dict(told[-1]) if told else {"basis": "none", "values": []}
    return basis["basis"] in ("computed", "looked_up"), list(basis["values"] or []), run.output or ""


def plain(value: str) -> str | Decimal:
    """Return a value as it is compared: numbers by what they are."""
    try:
        return round(Decimal(value.replace(",", "").rstrip("%")), 4)
    except InvalidOperation:
        return value.casefold()


@pytest.mark.parametrize("case", CASES, ids=[str(case["id"]) for case in CASES])
def test_a_report_is_answered_right_or_not_at_all(asking: AgentService, case: dict[str, Any]) -> None:
    data = (FOLDER / case["file"]).read_bytes()
    claims, values, said = ask(asking, case["file"], data, case["question"])
    if case["right"] is None or case["id"] in REFUSED:
        assert not claims, said
    else:
        assert claims, said
        assert {plain(right) for right in case["right"]} & set(map(plain, values[:2])), said


@pytest.mark.parametrize(("name", "content", "question", "right"), SIBLINGS.values(), ids=SIBLINGS.keys())
def test_a_sibling_is_answered_right(
    asking: AgentService, name: str, content: str, question: str, right: str | None
) -> None:
    claims, values, said = ask(asking, name, content.encode(), question)
    assert claims == (right is not None), said
    assert right is None or plain(right) in map(plain, values[:2]), said
