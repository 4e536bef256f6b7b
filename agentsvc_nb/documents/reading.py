"""Read the text of a file as Markdown, or say why that is not possible (docs/api/files.md "What is read").

Files are untrusted, and the libraries that read them import slowly. So `documents.indexing.DocumentReader` runs this
module in child processes with limits.
"""

from __future__ import annotations

import datetime
import email
import email.policy
import gzip
import io
import itertools
import json
import logging
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from email.message import EmailMessage, MIMEPart
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.documents import media_types
from agentsvc_nb.documents.child_process import answer_questions
from agentsvc_nb.documents.indexing import encode_answer, index_text
from agentsvc_nb.documents.media_types import OFFICE, SPREADSHEETS
from agentsvc_nb.documents.texts import (
    BYTES_PER_CHARACTER,
    EMPTY,
    NO_TEXT,
    NOT_TEXT,
    PAGE_END,
    Document,
    decode_beginning,
    is_plain,
    make_storable,
    read_json,
    read_plain,
    strip_parameters,
    why_not_read,
)
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES

log = logging.getLogger(__name__)

CPU_SECONDS: Final = 10.0
"""The CPU time after which no further page of a PDF or sheet of a workbook is read."""
_HTML_SHARE: Final = 4
"""The number of bytes of HTML to read for each character of text, because most of a page is markup."""
_UNPACKED_MAX: Final = 64_000_000
PASSWORD: Final = "It needs a password. Upload a copy without one."
DAMAGED: Final = "It is damaged or cut off. Upload it again."
_OLD_FORMAT: Final = "It has an old Office format, which the service cannot read. Save it as {} and upload that."


class UnreadableDocument(Exception):
    """The file's text can't be read. The message is a sentence for the user."""


def read_document(path: Path, media_type: str, name: str = "", limit: int = INDEXED_TEXT_BYTES) -> Document:
    """Return at most `limit` characters of a file's text, as Markdown.

    Reads text, Markdown, HTML, CSV, JSON, XML, mail, PDF, Word, Excel and PowerPoint, and files of text or HTML that
    are packed with gzip. A file's content decides its format, not its name.

    Args:
        path: The file.
        media_type: The media type that the file's name or its sender claims.
        name: The name under which the user knows the file.
        limit: The maximum number of characters.

    Raises:
        OSError: The file does not exist.
        MemoryError: Reading takes more memory than this process may have.

    >>> read_document(Path("page.html"), "text/html")  # doctest: +SKIP
    Document(text='# Summer sale', unreadable='')
    """
    with path.open("rb") as file:
        head = file.read(media_types.HEAD_BYTES)
    kind = media_types.media_type(head) or media_types.correct_type(strip_parameters(media_type), head)
    if kind == "application/gzip":
        return _read_packed(path, name, limit)
    fallback = read_plain if is_plain(kind) else _read_ole if head.startswith(_OLE) else None
    reader = _READERS.get(kind, fallback)
    if reader is None:
        return Document(unreadable=why_not_read(kind))
    if not head:
        return Document(unreadable=EMPTY)
    try:
        found = reader(path, limit)
    except (MemoryError, ImportError):  # too little memory to load a library raises `ImportError`
        raise
    except UnreadableDocument as error:
        found = Document(unreadable=str(error))
    except Exception as error:  # the file is damaged or hostile, so a parser may fail in any way
        if re.search(r"memory|unknown error", str(error)):  # an XML parser ran out of memory
            raise MemoryError from None
        log.debug("A %s can't be read: %r", kind, error)
        found = Document(unreadable=DAMAGED)
    found = make_storable(found, limit)
    if kind == "text/html" and name.lower().endswith(_NEVER_HTML):
        said = f"It is an HTML page, though its name ends with {Path(name).suffix}. {found.unreadable}".strip()
        return Document(found.text, said)
    return found


def _read_packed(path: Path, name: str, limit: int) -> Document:
    try:
        with gzip.open(path) as file:
            data = file.read(_UNPACKED_MAX)
    except (EOFError, OSError, zlib.error):
        return Document(unreadable=DAMAGED)
    inner = media_types.guess(name.lower().removesuffix(".gz"), data[: media_types.HEAD_BYTES])
    if inner == "text/html":
        return make_storable(_page(data), limit)
    text = decode_beginning(data[: limit * BYTES_PER_CHARACTER]) if is_plain(inner) else None
    return make_storable(Document(text), limit) if text else Document()


# ---- pages and mail --------------------------------------------------------------------------------------------------

_CHARSET: Final = re.compile(
    rb"""<meta[^>]{0,200}charset=["']?\s*((?:iso|windows|shift|sjis|euc|gb|big5|koi8)[\w-]{0,20})""", re.IGNORECASE
)


def _read_html(path: Path, limit: int) -> Document:
    with path.open("rb") as file:
        data = file.read(limit * _HTML_SHARE + 1)
    found = _page(data[: limit * _HTML_SHARE])
    is_longer = len(data) > limit * _HTML_SHARE
    return Document(found.text, "It is very long. Only its beginning was read." if is_longer else found.unreadable)


def _page(data: bytes) -> Document:
    named = _CHARSET.search(data[:2048])
    text = decode_beginning(data, named[1].decode() if named else "cp1252")
    if text is None:
        return Document(unreadable=NOT_TEXT)
    shown = _html_text(text)
    return Document(shown, "" if shown else "It has no text. The service does not run scripts, which may add text.")


def _html_text(html: str) -> str:
    """Return a page as Markdown, below its title unless a heading repeats the title."""
    from agentsvc_nb.documents.markup import parse_html, visible_text
    from agentsvc_nb.documents.page_markdown import to_markdown

    try:
        root = parse_html(html)
    except ValueError as error:
        raise UnreadableDocument(f"{str(error).capitalize()}.") from None
    title, headings = root.get("title", ""), [visible_text(heading) for heading in root.iter("h1")]
    text = to_markdown(root)
    if not title or title in headings or not text:
        return text or title
    return f"{title}\n\n{text}" if headings else f"# {title}\n\n{text}"


def _read_mail(path: Path, limit: int) -> Document:
    """Read a mail message: its subject, sender, recipients, date, text, and the names of its attachments."""
    message = email.message_from_bytes(path.read_bytes()[:_UNPACKED_MAX], policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not (message["from"] or message["subject"] or message["date"]):
        raise UnreadableDocument("It is not a mail message, although its name says so.")
    lines = [f"# {_header(message, 'subject') or 'No subject'}", ""]
    lines += [f"{name}: {value}" for name in ("From", "To", "Cc", "Date") if (value := _header(message, name))]
    attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    lines += [f"Attached: {', '.join(attached)}"] if attached else []
    return Document("\n".join([*lines, "", _mail_text(message)]).strip())


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except Exception:  # the header parser raises many types of errors for malformed headers
        return ""


def _mail_text(message: EmailMessage) -> str:
    """Return a message's plain text, or its HTML as Markdown if the plain text is much shorter."""
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    text = _content(plain).strip() if plain else ""
    page = _html_text(_content(html)) if html else ""
    return text if len(text) * 4 >= len(page) else page


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, KeyError):  # the declared encoding does not exist
        data = part.get_payload(decode=True)
        return (decode_beginning(data) or "") if isinstance(data, bytes) else ""


# ---- PDF -------------------------------------------------------------------------------------------------------------


def _read_pdf(path: Path, limit: int) -> Document:
    """Read a PDF page by page. A form feed ends each page, so that pages can be counted in the text."""
    from agentsvc_nb.documents.pdf_text import PasswordNeeded, read_pages

    texts: list[str] = []
    pictures: list[int] = []
    ends = time.process_time() + CPU_SECONDS
    is_broken_off = False
    try:
        for number, (text, shows) in enumerate(read_pages(str(path)), 1):
            texts.append(text + PAGE_END)
            if shows and not text.strip():
                pictures.append(number)
            is_broken_off = time.process_time() > ends
            if is_broken_off or sum(map(len, texts[-1:])) > limit:
                break
    except PasswordNeeded:
        raise UnreadableDocument(PASSWORD) from None
    whole = "".join(texts)
    if not whole.strip():
        count = f"its {len(texts)} pages are pictures" if len(texts) > 1 else "its page is a picture"
        return Document(unreadable=f"It is a scan without text: {count}." if pictures else NO_TEXT)
    if is_broken_off:
        return Document(whole, f"Only its first {len(texts)} pages were read. The rest would take too long.")
    if _is_garbled(whole):
        return Document(whole, "Its fonts do not say which letters they show, so its text is unreadable.")
    return Document(whole, _describe_pictures(pictures, len(texts)))


def _describe_pictures(pages: list[int], count: int) -> str:
    """Return a sentence that lists the pages of a PDF that are pictures without text, or "" if there are none."""
    if not pages:
        return ""
    named = ", ".join(map(str, pages[:10])) + (" and others" if len(pages) > 10 else "")
    return f"Some of its {count} pages are pictures without text: {named}."


def _is_garbled(text: str) -> bool:
    """Return True if over a fifth of the characters are control characters, private-use characters or U+FFFD."""
    odd = re.findall(r"[\x00-\x08\x0e-\x1f\ufffd\ue000-\uf8ff]", text[:20_000])
    return len(odd) * 5 > len(text[:20_000].strip())


# ---- Office ----------------------------------------------------------------------------------------------------------

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STORAGE: Final = "application/x-ole-storage"
_LINKS_MAX: Final = 200


def _read_word(path: Path, limit: int) -> Document:
    """Read a Word file with comments, headers and footers.

    The links are listed below the text and not within it, so that the text can be quoted word for word.
    """
    from agentsvc_nb.documents.markup import parse_html, visible_text, word_to_html
    from agentsvc_nb.documents.page_markdown import to_markdown

    root = parse_html(word_to_html(_whole(path), margins=True))
    text = to_markdown(root)
    links = {
        f"- {visible_text(link) or link.get('href')}: {link.get('href')}"
        for link in itertools.islice(root.iter("a"), _LINKS_MAX)
        if link.get("href", "").startswith(("http://", "https://", "mailto:"))
    }
    return Document("\n".join([text, "\nLinks:\n", *sorted(links)]) if links else text)


def _whole(path: Path) -> bytes:
    """Return the bytes of an Office file. Raises `UnreadableDocument` if the file is encrypted or has an old format."""
    data = path.read_bytes()
    if data.startswith(_OLE):
        raise UnreadableDocument(_ole_reason(data) or DAMAGED)
    return data


def _read_ole(path: Path, limit: int) -> Document:
    """Read an OLE container: a file of Office before 2007, or an encrypted file of any version."""
    data = path.read_bytes()
    if reason := _ole_reason(data):
        raise UnreadableDocument(reason)
    return _read_workbook(path, limit) if any(name in data for name in _BOOKS) else Document()


_BOOKS: Final = ("Workbook".encode("utf-16-le"), b"B\0o\0o\0k\0\0\0")


def _ole_reason(data: bytes) -> str:
    """Return a sentence that says why an OLE container can't be read, or "" if it may be a workbook."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return PASSWORD
    if "WordDocument".encode("utf-16-le") in data:
        return _OLD_FORMAT.format(".docx")
    if "PowerPoint Document".encode("utf-16-le") in data:
        return _OLD_FORMAT.format(".pptx")
    return ""


def _read_workbook(path: Path, limit: int) -> Document:
    """Read the visible sheets of a workbook, each as a table below the sheet's name."""
    from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

    from agentsvc_nb.documents.page_markdown import markdown_table

    with path.open("rb") as file:
        if (head := file.read(8)).startswith(_OLE) and (reason := _ole_reason(path.read_bytes())):
            raise UnreadableDocument(reason)
        if not head.startswith((b"PK", _OLE)):
            raise UnreadableDocument(DAMAGED)
    try:
        book = CalamineWorkbook.from_path(str(path))
    except PasswordError:
        raise UnreadableDocument(PASSWORD) from None
    parts: list[str] = []
    hidden: list[str] = []
    room, ends = limit, time.process_time() + CPU_SECONDS
    for sheet in book.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:
            continue
        if sheet.visible != SheetVisibleEnum.Visible:
            hidden.append(sheet.name)
            continue
        if room <= 0 or time.process_time() > ends:
            break
        rows: list[list[str]] = []
        for row in book.get_sheet_by_name(sheet.name).iter_rows():
            cells = [_cell(cell) for cell in row]
            if any(cells):
                rows.append(cells)
                room -= sum(map(len, cells)) + 3 * len(cells)
            if room <= 0:
                break
        first = min((at for row in rows for at, cell in enumerate(row) if cell), default=0)
        parts.append(f"## {sheet.name}\n\n{markdown_table([row[first:] for row in rows])}".strip())
    if hidden:
        parts.append(f"Hidden sheets are left out: {', '.join(hidden)}.")
    return Document("\n\n".join(parts))


def _cell(value: object) -> str:
    """Return the text of a workbook cell: whole numbers without `.0`, dates in ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}" if abs(value) < 1e15 or value != int(value) else str(int(value))
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime.datetime) and not (value.hour or value.minute or value.second):
        return value.date().isoformat()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    return " ".join(str(value).split())


def _read_slides(path: Path, limit: int) -> Document:
    """Read a presentation slide by slide: titles, texts, tables, numbers of charts, and speaker notes."""
    import pptx

    parts: list[str] = []
    for number, slide in enumerate(pptx.Presentation(io.BytesIO(_whole(path))).slides, 1):
        title = slide.shapes.title
        head = " ".join(title.text_frame.text.split()) if title is not None else ""
        hidden = " (hidden slide)" if slide.element.get("show") == "0" else ""
        blocks = [f"# {head or f'Slide {number}'}{hidden}"]
        for shape in slide.shapes:
            if title is None or shape.shape_id != title.shape_id:
                blocks += _shape_text(shape)
        blocks += _alternative_texts(slide.element)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            blocks += [f"Notes: {notes}"] if notes else []
        parts.append("\n\n".join(filter(None, blocks)) + PAGE_END)
        if sum(map(len, parts[-1:])) > limit:
            break
    return Document("".join(parts))


def _shape_text(shape: Any) -> Iterator[str]:
    """Yield the texts of a shape, and of all shapes in it if it is a group."""
    from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

    from agentsvc_nb.documents.page_markdown import markdown_table

    if shape.is_placeholder and shape.placeholder_format.type == PP_PLACEHOLDER.SLIDE_NUMBER:
        return
    if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
        for inner in shape.shapes:
            yield from _shape_text(inner)
    elif getattr(shape, "has_table", False):
        yield markdown_table([[cell.text for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield from _chart_text(shape.chart)
    elif shape.has_text_frame:
        lines = (
            "   " * paragraph.level + ("- " if paragraph.level else "") + _line(paragraph.text)
            for paragraph in shape.text_frame.paragraphs
        )
        yield "\n".join(line for line in lines if line.strip("- "))
    else:
        yield from _diagram_text(shape)


def _line(text: str) -> str:
    return " ".join(text.replace("\v", " ").split())


def _chart_text(chart: Any) -> Iterator[str]:
    """Yield the title of a chart, and its series as a table."""
    from agentsvc_nb.documents.page_markdown import markdown_table

    if chart.has_title and chart.chart_title.has_text_frame:
        yield chart.chart_title.text_frame.text.strip()
    for plot in chart.plots:
        series = list(plot.series)
        head = ["", *(one.name or "" for one in series)]
        values = itertools.zip_longest(map(str, plot.categories), *(one.values for one in series))
        yield markdown_table([head, *([_cell("" if cell is None else cell) for cell in row] for row in values)])


def _diagram_text(shape: Any) -> Iterator[str]:
    """Yield the texts of a diagram (SmartArt), which are in a separate part of the file."""
    from lxml import etree

    for relations in shape.element.iter("{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"):
        identifier = next((value for key, value in relations.items() if key.endswith("}dm")), "")
        blob = shape.part.related_part(identifier).blob
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        yield "\n".join(_paragraphs(etree.fromstring(blob, parser)))


def _alternative_texts(slide: Any) -> Iterator[str]:
    """Yield the texts of shapes that exist in alternative versions. `python-pptx` does not read such shapes."""
    for choice in slide.iter("{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"):
        yield "\n".join(_paragraphs(choice))


def _paragraphs(element: Any) -> Iterator[str]:
    space = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
    for paragraph in element.iter(space + "p"):
        if text := _line("".join(run.text or "" for run in paragraph.iter(space + "t"))):
            yield text


# ---- which reader ----------------------------------------------------------------------------------------------------

Reader = Callable[[Path, int], Document]
_NEVER_HTML: Final = (".pdf", ".docx", ".doc", ".pptx", ".ppt")


def _refuse(path: Path, limit: int) -> Document:
    raise UnreadableDocument("The service cannot read this format. Save the file as .docx or PDF and upload that.")


_READERS: Final[Mapping[str, Reader]] = {
    "application/json": read_json,
    "application/x-ipynb+json": read_json,
    "text/html": _read_html,
    "application/xhtml+xml": _read_html,
    "message/rfc822": _read_mail,
    "application/pdf": _read_pdf,
    OFFICE + "wordprocessingml.document": _read_word,
    OFFICE + "presentationml.presentation": _read_slides,
    **dict.fromkeys(SPREADSHEETS, _read_workbook),
    "application/msword": _read_ole,
    "application/vnd.ms-powerpoint": _read_ole,
    "application/rtf": _refuse,
    "application/vnd.oasis.opendocument.text": _refuse,
    "application/vnd.oasis.opendocument.presentation": _refuse,
}


def _answer(question: bytearray) -> bytes:
    """Read the file that `DocumentReader` asks for, and return the answer."""
    given = json.loads(question)
    try:
        document = read_document(Path(given["path"]), given["media_type"], given["name"])
    except OSError:  # the file has been replaced or removed since
        document = Document()
    return encode_answer(index_text(document.text, document.unreadable))


if __name__ == "__main__":
    answer_questions(_answer)
