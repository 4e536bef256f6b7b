"""The tables and charts of an answer: `answer.df`, `_.df`, `%%ask -o`, and the picture below the text."""

from __future__ import annotations

import base64
import html
import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.documents import markdown as pages
from agentsvc_nb.notebook.display import markdown
from agentsvc_nb.notebook.display.file_table import CHART_PIXELS, charts_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.files import TypedOutput, WorkspaceFile
from tests.notebook.allowlist import offences
from tests.service.api.leaving import leaving

pytestmark = pytest.mark.usefixtures("connected")


def test_the_answer_has_its_table_as_a_dataframe(kernel: Any) -> None:
    value = kernel.cell(f"%%ask -o answer\n{leaving('Umsätze', 'b')}")
    table = kernel.cell("answer.df")
    assert value is kernel.user_ns["answer"]
    assert table["revenue"].sum() == 12.5
    assert (str(table["month"].dtype), table.attrs["units"]) == ("datetime64[us]", {"revenue": "€"})
    assert kernel.cell("answer.df") is table
    assert [one.attrs["path"] for one in kernel.cell("answer.tables")] == ["results/Umsätze.csv", "results/b.csv"]
    kernel.cell(f"%%ask\n{leaving('a')}")
    assert kernel.cell("_.df.attrs['path']") == "results/a.csv"


def test_an_answer_says_what_is_in_it(kernel: Any) -> None:
    answer = kernel.cell(f"%%ask\n{leaving('a')}")
    assert repr(answer) == f"<Answer completed: 4 characters, 1 table, 3 files; .text .df .files; run {answer.run_id}>"
    assert len(answer.df) == 2
    assert "4 characters, table 2 x 2, 3 files" in repr(answer)
    shown = kernel.cell("_.files")
    assert list(shown.df["path"]) == ["results/a.csv", "results/a.schema.json", "notes.csv"]
    assert "results/a.csv" in repr(shown)


def test_a_run_without_a_table_says_so(kernel: Any) -> None:
    answer = kernel.cell("%%ask\nsay hello")
    assert answer.tables == []
    with pytest.raises(AskError, match=r"no computed table. It has 5 characters.$"):
        _ = answer.df


def test_a_run_in_the_background_and_one_shown_again_have_them_too(kernel: Any) -> None:
    kernel.cell(f"%%ask --bg -o later\n{leaving('a')}")
    assert kernel.cell("later.df")["revenue"].sum() == 12.5
    shown = kernel.cell(f"%runs show {kernel.user_ns['later'].run_id}")
    assert shown.tables[0].attrs["path"] == "results/a.csv"


def png(width: int = 960, height: int = 552) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "#1f5fa8").save(out, "PNG")
    return out.getvalue()


def chart(path: str = "results/Umsatz nach Monat.png", kind: str = "chart") -> WorkspaceFile:
    output = TypedOutput(id="chart_1", type=kind)
    return WorkspaceFile(id="", path=path, file_name=Path(path).name, size_bytes=5, output=output)


def test_a_chart_is_shown_as_a_picture_with_its_name() -> None:
    bundle = charts_bundle([chart(), chart("other.png", "image_set")], lambda _: png(2000, 4000))
    assert bundle is not None
    assert bundle["text/plain"] == "Chart: results/Umsatz nach Monat.png"
    [(data, alt)] = re.findall(r'src="data:image/webp;base64,([^"]+)" alt="([^"]+)"', bundle["text/html"])
    assert alt == "Chart: Umsatz nach Monat"
    assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) == CHART_PIXELS
    assert offences(bundle["text/html"]) == []


@pytest.mark.parametrize("data", [None, b"", b"<svg onload=alert(1)>", png()[:200]])
def test_what_is_no_picture_is_not_shown(data: bytes | None) -> None:
    assert charts_bundle([chart()], lambda _: data) is None


@pytest.mark.parametrize("to_html", [markdown.to_html, pages.to_html])
def test_the_sql_of_a_computed_answer_is_folded_and_that_of_others_is_not(to_html: Any) -> None:
    sql = "SELECT '<b>' AS x\nFROM t"
    folded, open_ = to_html(f"```sql computed\n{sql}\n```\n"), to_html(f"```sql\n{sql}\n```\n")
    plain, plain_open = (re.sub(' style="[^"]+"|</?span[^>]*>', "", shown) for shown in (folded, open_))
    plain = re.sub(' class="[^"]+"|</?div>', "", plain)
    code = f"<pre><code>{html.escape(sql)}\n</code></pre>"
    assert plain == f"<details><summary>How it was computed</summary>{code}</details>\n"
    assert plain_open == f"<pre><code>{html.escape(sql)}\n</code></pre>\n"
    assert offences(folded) == []
