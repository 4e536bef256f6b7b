"""Pictures, tables and charts of an answer: thumbnails from real pictures only, `answer.df`, the picture below."""

from __future__ import annotations

import base64
import io
import json
import random
import re
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.file_table import CHART_PIXELS, charts_bundle, files_bundle, thumbnail
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.files import TypedOutput, WorkspaceFile
from tests.notebook.allowlist import offences


def png(size: tuple[int, int] = (80, 60)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "navy").save(out, "PNG")
    return out.getvalue()


def _picture(edge: int = 600) -> bytes:
    """Noise, which is large."""
    out = io.BytesIO()
    Image.frombytes("RGB", (edge, edge), random.Random(7).randbytes(edge * edge * 3)).save(out, "PNG")
    return out.getvalue()


def test_a_picture_becomes_a_webp_of_at_most_256_pixels() -> None:
    head, _, data = str(thumbnail(_picture())).partition(",")
    assert head == "data:image/webp;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (256, 256)


def test_a_decompression_bomb_is_not_opened() -> None:
    for height, made in ((6_250, True), (6_251, False)):  # at most 40 million pixels
        out = io.BytesIO()
        Image.new("1", (6_400, height)).save(out, "PNG")
        assert (thumbnail(out.getvalue()) is not None) == made


def test_an_output_has_at_most_12_pictures_and_300_kb_of_them() -> None:
    small, large = _picture(edge=40), _picture(edge=300)
    many = files_bundle([_file(n) for n in range(14)], lambda _: small)["text/html"]
    assert many.count("<img") == file_table.PER_OUTPUT
    heavy = files_bundle([_file(n) for n in range(14)], lambda _: large)["text/html"]
    assert heavy.count("<img") > 0
    assert len(heavy) < file_table.OUTPUT_BYTES + 20_000
    assert offences(heavy) == []


def test_only_what_claims_to_be_a_picture_is_fetched_at_all() -> None:
    fetched: list[str] = []

    def fetch(file: WorkspaceFile) -> bytes | None:
        fetched.append(file.path)
        return None

    huge = _file(3).model_copy(update={"size_bytes": file_table.SOURCE_BYTES + 1})
    html = files_bundle([_file(1), _file(2, "text/html"), huge], fetch)["text/html"]
    assert fetched == ["p1.png"]
    assert "<img" not in html


def _file(number: int, media_type: str = "image/png") -> WorkspaceFile:
    return WorkspaceFile(id="0" * 64, path=f"p{number}.png", media_type=media_type, size_bytes=1000)


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
    with pytest.raises(AskError, match="no computed table"):
        _ = kernel.cell("%%ask\nsay hello").df


def test_a_chart_is_shown_as_a_picture_with_its_name_and_what_is_no_picture_is_not() -> None:
    path = "results/Umsatz nach Monat.png"
    chart = TypedOutput(id="1", type="chart")
    files = [WorkspaceFile(id="", path=path, file_name="Umsatz nach Monat.png", size_bytes=5, output=chart)]
    bundle = charts_bundle(files, lambda _: png(size=(2000, 4000)))
    assert bundle is not None
    [(data, alt)] = re.findall(r'src="data:image/webp;base64,([^"]+)" alt="([^"]+)"', bundle["text/html"])
    assert alt == "Chart: Umsatz nach Monat"
    assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) == CHART_PIXELS
    assert charts_bundle(files, lambda _: b"<svg onload=alert(1)>") is None
