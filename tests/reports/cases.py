"""Small files of the kinds that exports, spreadsheets and pages really have, and what is right of each."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Case:
    """A file: its name and content, the sum of a column, the number of its rows, and a part of its notes."""

    name: str
    content: str
    column: str
    total: str
    rows: int
    note: str = ""

    @property
    def right(self) -> Decimal:
        return Decimal(self.total)


PIVOT = "Region,Ad,Clicks\nNorth,A,10\nNorth,B,20\nNorth Total,,30\nSouth,A,5\nSouth,B,6\nSouth Total,,11\n"
HTML = (
    "<table><tr><th>City</th><th>Visits</th></tr><tr><td>Kiel</td><td>{}</td></tr>"
    "<tr><td>Ulm</td><td>7</td></tr></table>"
)
CASES = {
    # Totals
    "a total with a colon": Case("a.csv", "Ad,Clicks\nA,1\nB,2\nGrand Total:,3\n", "Clicks", "3", 2, "Row 4 left out"),
    "totals on two levels": Case("a.csv", PIVOT + "Grand Total,,41\n", "Clicks", "41", 4, "Rows 4, 7 and 8 left out"),
    "totals of an ad platform": Case(
        "a.csv",
        "Campaign report\nJan 1, 2026 - Jan 31, 2026\nCampaign,Clicks,CTR\nA,100,5%\nB,200,2.5%\n"
        "Total: Account,300,3%\nTotal: Search campaigns,300,3%\n",
        "Clicks",
        "300",
        2,
        "Rows 6 and 7 left out",
    ),
    "a total without a name, above": Case(
        "a.csv", "# Pages\n# Account: X\nPage,Views,Users\n,1000,400\n/,600,300\n/shop,400,200\n", "Views", "1000", 2
    ),
    "a total of zero": Case("a.csv", "R,K,N\nA,x,-5\nA,y,5\nA Total,,0\nB,x,1\nB,y,2\nB Total,,3\n", "N", "3", 4),
    "a total among ids": Case("a.csv", "id,amount\n1,10\n2,20\n3,30\n,60\n", "amount", "60", 3),
    "a comment that begins with a word for totals": Case(
        "a.csv", "comment,stars\nAll good,5\nTotal waste,1\nAverage,3\nTotally fine,4\n", "stars", "13", 4
    ),
    "the total on top": Case("a.csv", "Ad,Clicks,Cost\nTotal,6,9\nA,1,2\nB,2,3\nC,3,4\n", "Clicks", "6", 3, "below"),
    "a mean is no row": Case("a.csv", "Ad,Clicks,Cost\nA,10,1\nB,20,2\nAverage,15,1.5\n", "Clicks", "30", 2),
    "unique users": Case("a.csv", "Week,Users\n1,100\n2,120\n3,90\nTotal,250\n", "Users", "310", 3, "do not add up"),
    "a brand called Total": Case("a.csv", "Brand,Units\nTotal,7\nShell,2\nBP,4\nAral,9\n", "Units", "22", 4, "counts"),
    "a product": Case("a.csv", "Shop,Units\nSpar,10\nAldi,20\nTotal Wine,30\nLidl,5\n", "Units", "65", 4),
    "an unknown language": Case(
        "a.csv", "pilsēta,klikšķi,izmaksas\nRīga,10,1.50\nLiepāja,20,2.25\nVentspils,35,4.10\nKopsavilkums,65,7.85\n",
        "klikšķi", "65", 3,
    ),
    "totals of parts at the end": Case(
        "a.csv",
        "Ad,Clicks\nA,1204\nB,2310\nC,87\nTotal: Ads,3601\nTotal: Search,3514\nTotal: Shop,87\n",
        "Clicks", "3601", 3,
    ),
    "a count at the end": Case(
        "a.csv",
        "Ad,State,Spend,CPM\nA,on,310.5,18\nB,on,95,21\nC,on,142,9\nAds: 3,,547.5,15.5\n",
        "Spend", "547.5", 3,
    ),
    "a cube": Case(
        "a.csv",
        "Town,Sex,N\nA,F,412\nA,M,398\nA,T,810\nB,F,1210\nB,M,1188\nB,T,2398\n"
        "All,F,1622\nAll,M,1586\nAll,T,3208\n",
        "N", "3208", 4,
    ),
    "years among quarters": Case("a.csv", "When,N\n2022-Q1,110\n2022-Q2,123\n2022,233\n2023-Q1,75\n", "N", "308", 3),
    "a balance at the end": Case(
        "a.csv",
        "Day;Who;N\n2026-01-01;A;5\n2026-01-02;B;7\n2026-01-03;C;8\n2026-01-04;C;1\nBalance;;99\n",
        "N", "21", 4,
    ),
    "sums carried over pages": Case(
        "a.csv",
        "Id,Who,N\nx1,A,120\nx2,B,81\nCarried forward,,201\nPage 2,,\n"
        "Id,Who,N\nBrought forward,,201\nx3,C,240\nx4,D,9\n",
        "N", "450", 4,
    ),
    "lines about the file": Case(
        "a.csv",
        "Title,Exports\nReleased,2024-02-14\nShop,Sold\nA,110\nB,120\nC,115\n",
        "Sold", "345", 3, "Lines above",
    ),
    "a text file": Case("a.txt", "Farm A\nMay\n\nTree,Count\nOak,3\nYew,4\nElm,1\n", "Count", "8", 3, "Lines above"),
    "a trailing delimiter": Case("a.txt", "A,B,C\n1,4,70,\n2,5,80,\n3,6,95,\n", "B", "15", 3),
    "labels of groups": Case(
        "a.csv", "Region,Item,N\nNorth,Tea,1\n,Milk,2\nSouth,Tea,3\n,Milk,4\n", "N", "10", 4, "2 empty cells",
    ),
    "a mark for missing values": Case("a.csv", "A,B\na,1\nb,2\nc,M\nd,3\n\nM = missing\n", "B", "6", 4, "M = missing"),
    "a logger": Case(
        "a.csv",
        "TOA5,Hill,CR1,48\nDAY,RH,WS\nTS,%,m/s\n,Smp,Max\n2026-01-01,80,1\n2026-01-02,77,2\n2026-01-03,75,2\n",
        "RH", "232", 3, "description",
    ),
    "indented groups": Case("a.csv", "Region,Jan\nNorth,10\n  Kiel,4\n  Husum,6\nSouth,5\n  Ulm,5\n", "Jan", "15", 3),
    "a row without a label is data": Case("a.csv", "R,K,N\nA,x,1\nA,y,2\nA,,4\nB,x,5\nB,,6\n", "N", "18", 5),
    "sections of a balance": Case(
        "a.csv", "Account,Total\nAssets,30\nCash,10\nBank,20\nTotal Assets,30\nDebts,5\nLoan,1\nTax,4\nTotal Debts,5\n",
        "Total", "35", 4,
    ),
    # Headers
    "two header rows": Case(
        "a.csv", ",Google,,Meta,\nDay,Spend,Clicks,Spend,Clicks\n1,2,3,4,5\n2,3,4,5,6\n", "Meta Spend", "9", 2,
    ),
    "years above": Case("a.csv", "Shop,2024,2025\nA,1,2\nB,3,4\n", "2025", "6", 2),
    "a row of units": Case("a.csv", "Day,Cost,Weight\n,[EUR],[kg]\n2026-01-01,5,1\n2026-01-02,6,2\n", "Cost", "11", 2),
    "a survey export": Case(
        "a.csv", 'Q1,Q2\nWhich city?,How many?\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\nKiel,3\nUlm,4\n',
        "Q2", "7", 2, "Rows 2 and 3 left out: a description",
    ),
    "the name of an index": Case("a.csv", ",Jan,Feb\nRegion,,\nNorth,1,2\nSouth,3,4\n", "Jan", "4", 2),
    "no header": Case("a.csv", "DE,5,6.5\nFR,7,8.5\n", "Column 2", "12", 2, "no header"),
    "titles": Case("a.csv", "Report of May\nAll accounts\n\nAd;Clicks\nA;1\nB;2\n", "Clicks", "3", 2, "Lines above"),
    "two tables": Case(
        "a.csv", "Key,Sum,Mean\nA,5,1\nB,6,2\n\nDay,Views,Visits\n1,90,7\n2,60,8\n", "Views", "150", 2, "2 tables",
    ),
    # Rows and columns
    "rows without a value": Case("a.csv", 'n\n1\n""\n""\n2\n""\n', "n", "3", 5),
    "padded rows at the end": Case("a.csv", "city,n,,\nKiel,1,,\nUlm,2,,\n,,,\n,,,\n", "n", "3", 2),
    "short rows": Case("a.csv", "A,B,C\nx,1\ny,2,3\nz,4\n", "B", "7", 3),
    "surplus cells": Case("a.csv", "A,B\nx,1\ny,2,3\nz,4\n", "B", "7", 3, "row 3"),
    # Numbers
    "accounts": Case("a.csv", 'A,B\na," $ 1,200.00 "\nb," $ (300.00)"\nc," $ -   "\n', "B", "900", 3),
    "a currency before a bracket": Case("a.csv", "A,B\na,£(30.00)\nb,£10.00\nc,£10.00\n", "B", "-10", 3),
    "francs": Case("a.csv", "A;B\na;12.-\nb;13.50\n", "B", "25.5", 2),
    "a trailing sign": Case("a.csv", "A,B\na,12-\nb,20\n", "B", "8", 2),
    "durations": Case("a.csv", "Video,Length\nA,0:45\nB,12:30\nC,1:02:03\n", "Length", "4518", 3, "seconds"),
    "hours worked": Case("a.csv", "Person,Hours worked\nA,27:15\nB,8:30\n", "Hours worked", "128700", 2),
    "months": Case("a.csv", "Month,Spend\nJan-26,1\nFeb-26,2\n", "Spend", "3", 2),
    "the mark of another column": Case("a.csv", "D;V;P\n1;300,000;11,18\n2;-91,000;-1,51\n", "V", "209", 2),
    "an unread cell": Case(
        "a.csv", "A,B\na,1\nb,2\nc,3\nd,DNF\n", "B", "6", 4, "B: 1 cell is not a number and not counted: 'DNF'.",
    ),
    # Kinds of files, hidden text
    "HTML called .xls": Case("a.xls", HTML.format("3"), "Visits", "10", 2),
    "text with tabs called .xls": Case("a.xls", "City\tVisits\nKiel\t3\nUlm\t7\n", "Visits", "10", 2),
    "CSV called .xlsx": Case("a.xlsx", "City,Visits\nKiel,3\nUlm,7\n", "Visits", "10", 2),
    "JSON called .csv": Case(
        "a.csv", '[{"City": "Kiel", "Visits": 3}, {"City": "Ulm", "Visits": 7}]', "Visits", "10", 2,
    ),
    "a hidden number": Case("a.html", HTML.format("<span style='display:none'>0003</span>3"), "Visits", "10", 2),
    "a deleted number": Case("a.html", HTML.format("<del>9</del>3"), "Visits", "10", 2),
    "a footnote": Case("a.html", HTML.format("3<sup>2</sup>"), "Visits", "10", 2),
    "several footnotes": Case("a.html", HTML.format("3<sup>1, 3</sup>"), "Visits", "10", 2),
    "zero bytes": Case("a.csv", "City;Visits\nKiel\0;3\nUlm\0\0;7\n", "Visits", "10", 2, "zero bytes"),
    "an error value": Case("a.csv", "A,B\na,1\nb,#N/A\nc,3\n", "B", "4", 3, "1 cell has an error value"),
    "two columns of one name": Case("a.csv", "A,B,B\na,1,4\nb,2,5\n", "B (2)", "9", 2, "2 columns are called 'B'"),
    "an end-of-file mark": Case("a.csv", "City,Visits\nKiel,3\nUlm,7\n\x1a", "Visits", "10", 2),
    "a footer of a page": Case(
        "a.html", HTML.format("3").replace("</table>", "<tfoot><tr><td></td><td>10</td></tr></tfoot></table>"),
        "Visits", "10", 2, "left out",
    ),
}  # fmt: skip
