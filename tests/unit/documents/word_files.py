"""Build small Word files from the XML of their body, as bug reports give them."""

from __future__ import annotations

import io
import zipfile
from typing import Final

_NAMESPACES: Final = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
_TYPES: Final = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONSHIPS: Final = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def word_file(body: str, **parts: str) -> bytes:
    """Return a .docx file with this body; `parts` are the contents of `word/<name>.xml`, such as `styles`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONSHIPS)
        archive.writestr("word/document.xml", f"<w:document {_NAMESPACES}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            root = {"header1": "hdr", "footer1": "ftr"}.get(name, name)
            archive.writestr(f"word/{name}.xml", f"<w:{root} {_NAMESPACES}>{content}</w:{root}>")
    return buffer.getvalue()


def run(text: str, properties: str = "") -> str:
    """Return a run of text."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, style: str = "") -> str:
    """Return a paragraph of runs; a run that is no XML is text."""
    written = "".join(one if one.startswith("<") else run(one) for one in runs)
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{written}</w:p>' if style else f"<w:p>{written}</w:p>"


def table(*rows: list[str]) -> str:
    """Return a table; a cell that is no XML is text."""
    cells = [
        "".join(f"<w:tc>{cell if cell.startswith('<') else paragraph(cell)}</w:tc>" for cell in row) for row in rows
    ]
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"
