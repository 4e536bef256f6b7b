"""Parse HTML and Word files into an `lxml` tree that contains only what a reader sees.

Input is untrusted: call these functions only in a process with limits on memory and time. They load nothing from the
network, and expand no entities.
"""

from __future__ import annotations

import gc
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from zipfile import BadZipFile, ZipFile

if TYPE_CHECKING:
    from lxml.etree import _Element
    from lxml.html import HtmlElement

# ---- HTML ------------------------------------------------------------------------------------------------------------

_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)", re.I)
_HIDDEN_CLASS: Final = re.compile(r"(?<![\w-])(?:sr-only|visually-?hidden|screen-reader-text)(?![\w-])")
_STRUCK_STYLE: Final = re.compile(r"text-decoration[\w-]*\s*:[^;]*line-through", re.I)
_STRUCK: Final = frozenset({"del", "s", "strike"})
_UNREAD: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "object", "select", "textarea", "rp", "rt", "title"}
)
"""Elements whose text is not read. `head` is not one: libxml2 puts `<main>` into it if the page has no `<body>`."""


def parse_html(text: str, *, keep_hidden: bool = False) -> HtmlElement:
    """Parse a page, however malformed, and remove everything that a reader does not see.

    Removes hidden elements, struck text and scripts, unless `keep_hidden` is set. The root's `title` attribute is the
    page's `<title>`. A page that is cut off or malformed is repaired as far as possible.

    Raises:
        ValueError: Elements are nested too deeply, and text would be lost.

    >>> visible_text(parse_html("<p>Price <del>12</del> <b>10</b> euros<p hidden>internal"))
    'Price 10 euros'
    """
    from lxml import etree, html

    # `huge_tree` allows 2,048 levels of elements instead of 256. Pages that never close a `<font>` have more than 256.
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root: HtmlElement = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:  # the page has neither elements nor text
        root = html.document_fromstring("<html><body></body></html>")
    if any("depth" in error.message.lower() for error in parser.error_log):
        raise ValueError("its elements are nested too deeply")
    title = " ".join((root.findtext(".//title") or "").split())
    for node in () if keep_hidden else list(root.iter()):
        if node is not root and (not isinstance(node.tag, str) or node.tag in _UNREAD or is_hidden(node)):
            node.clear(keep_tail=True)  # dropping these one by one would join their tails each time
            node.tag = "wbr"
    root.set("title", title)
    return root


def is_hidden(node: _Element) -> bool:
    """Return True if the page hides this element or strikes it through. Does not check the element's ancestors."""
    style = node.get("style", "")
    return bool(
        node.get("hidden") is not None
        or node.tag in _STRUCK
        or (node.tag == "dialog" and node.get("open") is None)
        or (style and (_HIDDEN_STYLE.search(style) or _STRUCK_STYLE.search(style)))
        or _HIDDEN_CLASS.search(node.get("class", ""))
    )


_FOOTNOTE_MARK: Final = re.compile(
    r"(?:\[[^\[\]]{1,20}\])+|(?![°%]$)[\d\W]{1,3}|[a-e]|(?:\d{1,2}|[a-e])(?:\s*[,;]\s*(?:\d{1,2}|[a-e]))+"
)
_CENTS: Final = re.compile(r"\d\d")
_BEFORE_CENTS: Final = re.compile(r"(?:^|[^\d.,])\d+$")
_UNIT: Final = re.compile(r"(?<![^\W\d_])(?:[kcdmµ]?m|ft|yd|mi|in|s)$")
_POWER: Final = re.compile(r"[-−–]?[1-9]")
_TEN: Final = re.compile(r"[×x*·]\s*10$")
_SEPARATE: Final = frozenset({"address", "article", "blockquote", "br", "dd", "div", "dt", "h1", "h2", "h3", "h4"})
_BLOCKS: Final = _SEPARATE | {"h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table", "td", "th", "tr", "ul"}


def visible_text(node: _Element) -> str:
    """Return an element's text in one line, without hidden or strikethrough text, footnote marks, or tables within it.

    Non-breaking hyphens become plain hyphens. Soft hyphens and zero-width spaces are left out.

    >>> visible_text(parse_html("<p>1,234<sup>[2]</sup> m<sup>2</sup> for 12<sup>99</sup> €"))
    '1,234 m2 for 12.99 €'
    """
    pieces = TextPieces()
    for event, element, text in walk(node, skip=("table",)):
        if event == "start" and element.tag in _BLOCKS:
            pieces.add(" ")
        elif event == "start" and (mark := box_mark(element)):
            pieces.add(mark)
        elif event == "text":
            pieces.add(text)
    return " ".join(pieces.joined().split())


class TextPieces:
    """Collects the pieces of a paragraph's text. Replaces or removes characters that only control line breaks."""

    _PLAIN: Final = {0x2011: "-", 0x00AD: None, 0x200B: None, 0x2060: None, 0xFEFF: None}

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)

    def joined(self) -> str:
        return "".join(self._pieces).translate(self._PLAIN)


def walk(node: _Element, skip: Iterable[str] = ()) -> Iterator[tuple[str, _Element, str]]:
    """Yield in order what a reader sees below `node`, as (event, element, text). The events are `start`, `end` and
    `text`.

    Skips hidden elements, elements in `skip`, and elements whose text is not read. Superscript text becomes the text
    that it means: nothing for a footnote mark, `.99` for cents, `^6` for a power of ten.
    """
    from lxml import etree

    left_out = _UNREAD.union(skip)
    before = ""
    events = etree.iterwalk(node, events=("start", "end"))
    skipped: _Element | None = None
    for event, element in events:
        if event == "start" and skipped is None:
            is_left_out = not isinstance(element.tag, str) or element.tag in left_out or is_hidden(element)
            if element is not node and (is_left_out or element.tag == "sup"):
                skipped = element
                events.skip_subtree()
                if not is_left_out and (text := _read_superscript(element, before.rstrip())):
                    yield "text", element, text
            else:
                yield "start", element, ""
                if element.tag in _BLOCKS:
                    before = ""
                if text := element.text or "":
                    before = (before + text)[-40:]
                    yield "text", element, text
        elif event == "end":
            if element is skipped:
                skipped = None
            elif skipped is None:
                yield "end", element, ""
            if skipped is None and element is not node and (text := element.tail or ""):
                before = (before + text)[-40:]
                yield "text", element, text


def _read_superscript(sup: _Element, before: str) -> str:
    """Return the text that a superscript means. `before` is the text before it."""
    inner = " ".join("".join(map(str, sup.itertext())).split())
    if _CENTS.fullmatch(inner) and _BEFORE_CENTS.search(before) and re.match(r"\s*[€$£]", sup.tail or ""):
        return "." + inner
    if _POWER.fullmatch(inner) and _UNIT.search(before):
        return inner
    if re.fullmatch(r"[-−–]?\d{1,3}", inner) and _TEN.search(before):
        return "^" + inner
    return "" if _FOOTNOTE_MARK.fullmatch(inner) else inner


def box_mark(element: _Element) -> str:
    """Return `[x] ` or `[ ] ` for a checkbox, or "" for any other element."""
    if element.tag != "input" or element.get("type") != "checkbox":
        return ""
    return "[ ] " if element.get("checked") is None else "[x] "


# ---- Word ------------------------------------------------------------------------------------------------------------

_XML_BYTES_MAX: Final = 32_000_000
"""The maximum size of unpacked XML that is read from one part of a Word file."""
_TEXT_CHARS_MAX: Final = 1_100_000
"""The maximum length of text that is read from one Word file. The index keeps less."""
_PARAGRAPH_CHARS: Final = 30
"""The characters to count for a paragraph besides its text, because `mammoth` takes 12 s for 36,000 empty ones."""
_WORD_PARTS: Final = re.compile(
    r"(?:\[Content_Types\]|word/(?:document\d*|styles|numbering|footnotes|endnotes|comments|header\d*|footer\d*))\.xml"
    r"|_rels/\.rels|word/_rels/document\d*\.xml\.rels"
)
_WORD: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_WORD_STRICT: Final = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_TEXT_PARTS: Final = re.compile("word/(?:document|footnotes|endnotes|comments|header|footer)")
_UNWRAPPED: Final = frozenset({"fldSimple", "bdo", "dir", "smartTag", "ruby", "rubyBase"})
_DROPPED: Final = frozenset(
    {"moveFrom", "rt", "rubyPr", "altChunk", "fldData", "proofErr", "lastRenderedPageBreak", "bookmarkStart"}
    | {"bookmarkEnd", "rFonts", "lang", "sz", "szCs", "color"}
)
_STYLE_MAP: Final = """
p.Title => h1:fresh
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
"""


def word_to_html(data: bytes, *, margins: bool = False) -> str:
    """Convert a Word file to HTML with headings, lists, tables, links, and notes at the end.

    Leaves out pictures, hidden text (`w:vanish`, also by its style), deleted text, and moved text at its old place.
    Keeps inserted text, moved text at its new place, text boxes, fields, content controls and formulas. Non-breaking
    hyphens become hyphens.

    Args:
        data: The bytes of the .docx file.
        margins: True to append comments, and the text of headers and footers.

    Raises:
        ValueError: The file is damaged, or its unpacked XML is too large.
    """
    from lxml import etree

    parts = _word_parts(data)
    styles = parts.get("word/styles.xml")
    formats = _formats(styles) if styles is not None else {}
    for name, part in parts.items():
        if _TEXT_PARTS.match(name):
            _simplify(part, formats, has_links=name.startswith("word/document"))
    main = next((part.find("{*}body") for name, part in parts.items() if name.startswith("word/document")), None)
    if main is None:
        raise ValueError("it has no body")
    if margins:
        outside = [part for name, part in sorted(parts.items()) if re.match(r"word/(?:header|footer)", name)]
        _append_margins(main, outside)
    _truncate(main, _TEXT_CHARS_MAX)
    style_map = _STYLE_MAP + ("comment-reference => sup" if margins else "")
    try:
        return _convert(parts, style_map)
    except MemoryError:
        raise
    except Exception as error:  # `mammoth` expects valid files, so try again without styles, lists, notes and links
        references = ("{*}footnoteReference", "{*}endnoteReference", "{*}commentReference", "{*}sym")
        etree.strip_elements(main, *references, with_tail=False)
        etree.strip_tags(main, "{*}hyperlink")
        try:
            return _convert({name: part for name, part in parts.items() if part is main.getparent()}, style_map)
        except MemoryError:
            raise
        except Exception:
            raise ValueError(f"it is not a valid Word file: {error}") from None


def _convert(parts: dict[str, _Element], style_map: str) -> str:
    """Convert the parts of a Word file to HTML with `mammoth`."""
    import mammoth
    from lxml import etree

    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, etree.tostring(part, encoding="utf-8"))
    gc.disable()  # pause the garbage collector: for a long document, it takes half of the time and finds nothing
    try:
        html: str = mammoth.convert_to_html(packed, style_map=style_map, include_embedded_style_map=False).value
    finally:
        gc.enable()
    return html.replace("\u2011", "-")


def _word_parts(data: bytes) -> dict[str, _Element]:
    """Parse the XML parts of a Word file that contain its text or its formats. Return them by path."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    parts = {}
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = entry.filename.replace("\\", "/").lstrip("/")  # some programs write paths with backslashes
                if not _WORD_PARTS.fullmatch(name):
                    continue
                with archive.open(entry) as member:
                    xml = member.read(_XML_BYTES_MAX + 1)
                if len(xml) > _XML_BYTES_MAX:
                    raise ValueError(f"{name} unpacks to more than {_XML_BYTES_MAX:,} bytes")
                parts[name] = etree.fromstring(xml, parser)
                if parts[name].getroottree().docinfo.doctype:
                    raise ValueError(f"{name} contains a DOCTYPE, which is not allowed")
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, etree.XMLSyntaxError) as error:
        raise ValueError(str(error)) from None
    return parts


@dataclass
class _Format:
    """Holds what a style says about its text. None means that it says nothing.

    Attributes:
        is_hidden: True if the text is hidden.
        level: the level of a heading, from 0 (the highest).
        based_on: the id of another style, which applies where this style says nothing.
    """

    is_hidden: bool | None = None
    level: int | None = None
    based_on: str | None = None


def _formats(styles: _Element) -> dict[str, _Format]:
    """Return the format of each style, by style id. Formats already include what styles take over from their base
    styles."""
    found = {}
    for style in styles.iterfind("{*}style"):
        identifier = next((str(value) for key, value in style.items() if key.endswith("}styleId")), "")
        level = _value(style.find("{*}pPr/{*}outlineLvl"))
        found[identifier] = _Format(
            _is_on(style.find("{*}rPr/{*}vanish")),
            int(level) if level and level.isdigit() else None,
            _value(style.find("{*}basedOn")),
        )
    for one in found.values():
        below, steps = found.get(one.based_on or ""), 0
        while below is not None and steps < 20:
            one.is_hidden = below.is_hidden if one.is_hidden is None else one.is_hidden
            one.level = below.level if one.level is None else one.level
            below, steps = found.get(below.based_on or ""), steps + 1
    return found


def _value(node: _Element | None) -> str | None:
    """Return the attribute `w:val` of a property's element, or None."""
    return next((str(value) for key, value in node.items() if key.endswith("}val")), None) if node is not None else None


def _is_on(switch: _Element | None) -> bool | None:
    """Return whether a property such as `w:vanish` is on, or None if the property is absent."""
    return None if switch is None else _value(switch) not in ("0", "false", "off")


def _local(node: Any) -> str:
    """Return the name of an element without its namespace."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _simplify(part: _Element, formats: dict[str, _Format], has_links: bool) -> None:
    """Change a part in place so that `mammoth` reads all its visible text and no hidden text."""
    from lxml import etree

    word = _WORD_STRICT if f"{{{_WORD_STRICT}}}" in part.tag else _WORD
    etree.strip_elements(part, *(f"{{*}}{name}" for name in _DROPPED), with_tail=False)
    unwrapped = _UNWRAPPED if has_links else _UNWRAPPED | {"hyperlink"}  # the addresses of their links are not read
    etree.strip_tags(part, *(f"{{*}}{name}" for name in unwrapped))
    for drawing in list(part.iter("{*}AlternateContent")):
        _keep_text_boxes(drawing, word)  # first, because the drawings in it are alternatives
    for drawing in list(part.iter("{*}drawing", "{*}pict", "{*}object")):
        _keep_text_boxes(drawing, word)
    for formula in list(part.iter("{*}oMath")):
        _replace(formula, [_run(word, _write_formula(formula))])
    etree.strip_tags(part, "{*}oMathPara")
    for paragraph in list(part.iter("{*}p")):
        style = paragraph.find("{*}pPr/{*}pStyle")
        given = formats.get(_value(style) or "", _Format())
        if given.level is not None and given.level < 6 and style is not None:
            style.set(f"{{{word}}}val", f"Heading{given.level + 1}")
        for run in list(paragraph.iterfind(".//{*}r")):
            of_run = formats.get(_value(run.find("{*}rPr/{*}rStyle")) or "", _Format())
            says = (_is_on(run.find("{*}rPr/{*}vanish")), of_run.is_hidden, given.is_hidden)
            is_struck = _is_on(run.find("{*}rPr/{*}dstrike"))  # `mammoth` knows only single strikethrough
            if is_struck or next((one for one in says if one is not None), False):
                for child in list(run):
                    if _local(child) not in ("fldChar", "instrText"):  # marks of fields, on which other runs depend
                        run.remove(child)


def _keep_text_boxes(drawing: _Element, word: str) -> None:
    """Replace a drawing by its first alternative that has text. Text boxes become VML, which `mammoth` reads."""
    for choice in drawing.findall("{*}Choice") + drawing.findall("{*}Fallback") or [drawing]:
        boxes = [box for box in choice.iter("{*}txbxContent") if not any(box.iterancestors("{*}txbxContent"))]
        plain = [child for child in choice if _local(child) in ("r", "t", "sym", "p")]
        if boxes or plain:
            vml = "urn:schemas-microsoft-com:vml"
            box = drawing.makeelement(f"{{{vml}}}textbox", nsmap={"v": vml})
            box.extend(boxes)
            picture = drawing.makeelement(f"{{{word}}}pict", nsmap={"w": word})
            picture.append(box)
            _replace(drawing, plain or [picture])
            return
    _replace(drawing, [])


def _replace(node: _Element, new: list[_Element]) -> None:
    parent = node.getparent()
    if parent is not None:
        at = parent.index(node)
        parent[at : at + 1] = new


def _run(word: str, text: str) -> _Element:
    from lxml import etree

    run = etree.Element(f"{{{word}}}r", nsmap={"w": word})
    etree.SubElement(run, f"{{{word}}}t").text = text
    return run


def _write_formula(node: _Element) -> str:
    """Return a formula as one line, such as `(a+b)/2`, `x^2` or `sqrt(x)`. Without `/`, the fraction 1/2 would read
    12."""
    inner = {_local(child): _write_formula(child) for child in node if not _local(child).endswith("Pr")}
    match _local(node):
        case "t":
            return node.text or ""
        case "f":
            return f"{_parenthesize(inner.get('num', ''))}/{_parenthesize(inner.get('den', ''))}"
        case "sSup":
            return f"{_parenthesize(inner.get('e', ''))}^{_parenthesize(inner.get('sup', ''))}"
        case "rad":
            return f"{inner.get('deg', '')}sqrt({inner.get('e', '')})"
        case "d":
            return f"({', '.join(_write_formula(child) for child in node if _local(child) == 'e')})"
        case _:
            return "".join(_write_formula(child) for child in node if not _local(child).endswith("Pr"))


def _parenthesize(term: str) -> str:
    return term if re.fullmatch(r"[\w.,]*", term) else f"({term})"


def _append_margins(body: _Element, parts: list[_Element]) -> None:
    """Append the contents of headers and footers to the body. If several have the same text, append only the first."""
    seen = set()
    for part in parts:
        text = " ".join("".join(map(str, part.itertext())).split())
        if text and text not in seen:
            seen.add(text)
            body.extend(list(part))


def _truncate(body: _Element, room: int) -> None:
    """Truncate the body to about `room` characters. Each paragraph counts as its text plus `_PARAGRAPH_CHARS`."""
    for child in list(body):
        if room <= 0:
            body.remove(child)
        room -= sum(len(text.text or "") for text in child.iter("{*}t"))
        room -= sum(_PARAGRAPH_CHARS for _ in child.iter("{*}p"))
