"""The tables and charts of an answer: `answer.df`, `_.df`, `%%ask -o`, and the picture below the text."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.documents import markdown as pages
from agentsvc_nb.notebook.display import markdown
from agentsvc_nb.notebook.display.file_table import CHART_PIXELS, charts_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.files import TypedOutput, WorkspaceFile
from tests.notebook.allowlist import offences
from tests.notebook.images import png

SCHEMA = {
    "fields": [{"name": "month", "type": "date"}, {"name": "revenue", "type": "number", "unit": "€"}],
    "missingValues": [""],
    "rows": 2,
    "more": False,
}


def leaving(*names: str) -> str:
    """A script that leaves a table of each name."""
    calls = []
    for name in names:
        files = {f"results/{name}.csv": "month,revenue\r\n2025-01-01,12.50\r\n2025-02-01,\r\n"}
        files[f"results/{name}.schema.json"] = json.dumps(SCHEMA)
        calls.append("call echo_job " + json.dumps({"steps": 0, "files": files, "output": [f"table_{name}", "table"]}))
    return "\n".join([*calls, "write notes.csv a", "say done"])


@pytest.mark.usefixtures("connected")
def test_the_answer_has_its_table_as_a_dataframe(kernel: Any) -> None:
    kernel.cell(f"%%ask -o answer\n{leaving('Umsätze', 'b')}")
    table = kernel.cell("answer.df")
    assert table["revenue"].sum() == 12.5
    assert len(table) == 2
    assert (str(table["month"].dtype), table.attrs["units"]) == ("datetime64[us]", {"revenue": "€"})
    assert [one.attrs["path"] for one in kernel.cell("answer.tables")] == ["results/Umsätze.csv", "results/b.csv"]
    kernel.cell(f"%%ask --bg -o later\n{leaving('a')}")
    assert kernel.cell("later.df.attrs['path']") == "results/a.csv"
    shown = kernel.cell(f"%runs show {kernel.user_ns['later'].run_id}")
    assert shown.tables[0].attrs["path"] == "results/a.csv"
    assert list(kernel.cell("later.files.df")["path"]) == ["results/a.csv", "results/a.schema.json", "notes.csv"]
    with pytest.raises(AskError, match="no computed table"):
        _ = kernel.cell("%%ask\nsay hello").df


def test_a_chart_is_shown_as_a_picture_with_its_name_and_what_is_no_picture_is_not() -> None:
    files = [
        WorkspaceFile(
            id="", path=path, file_name=path.rpartition("/")[2], size_bytes=5, output=TypedOutput(id="1", type=kind)
        )
        for path, kind in (("results/Umsatz nach Monat.png", "chart"), ("other.png", "image_set"))
    ]
    bundle = charts_bundle(files, lambda _: png(size=(2000, 4000)))
    assert bundle is not None
    [(data, alt)] = re.findall(r'src="data:image/webp;base64,([^"]+)" alt="([^"]+)"', bundle["text/html"])
    assert alt == "Chart: Umsatz nach Monat"
    assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) == CHART_PIXELS
    assert offences(bundle["text/html"]) == []
    for content in (None, b"<svg onload=alert(1)>", png()[:60]):
        assert charts_bundle(files, lambda _, content=content: content) is None  # type: ignore[misc]


@pytest.mark.parametrize("to_html", [markdown.to_html, pages.to_html])
def test_the_sql_of_a_computed_answer_is_folded_and_that_of_others_is_not(to_html: Any) -> None:
    sql = "SELECT '<b>' AS x\nFROM t"
    folded, open_ = to_html(f"```sql computed\n{sql}\n```\n"), to_html(f"```sql\n{sql}\n```\n")
    assert ("<details" in folded, "<details" in open_) == (True, False)
    for shown in (folded, open_):
        assert html.escape(sql) in re.sub("</?span[^>]*>", "", shown)
        assert offences(shown) == []
