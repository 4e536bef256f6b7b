"""Read text and form fields of untrusted PDFs, page by page. Call only in a process with limited memory and time."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pypdfium2

_PAGES_MAX: Final = 1_000
_FIELDS_MAX: Final = 500
"""The maximum number of form fields that are read from a page."""
_PLAIN: Final = {
    **dict.fromkeys((0x02, 0xFFFE)),  # PDFium's characters for a hyphen that divides a word at the end of a line
    **{0xFB00 + at: letters for at, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))},
}


class PasswordNeeded(ValueError):
    """A password is required to open the PDF."""


def read_pages(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the text of each page, and True if the page shows anything, such as a picture. A damaged page yields ("",
    False).

    Raises:
        PasswordNeeded: The file cannot be opened without a password.
        ValueError: The file is damaged.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise PasswordNeeded from None
        raise ValueError(str(error)) from None
    with document:
        document.init_forms()
        for number in range(min(len(document), _PAGES_MAX)):
            try:
                page = document[number]
                text = page.get_textpage().get_text_bounded().translate(_PLAIN).replace("\r\n", "\n")
                fields = "\n".join(_fields(document, page))
                yield (
                    f"{text}\n{fields}" if text and fields else text or fields,
                    next(page.get_objects(), None) is not None,
                )
            except pypdfium2.PdfiumError:
                yield "", False
                continue
            page.close()  # free the page's memory, because a thousand open pages would need too much


def _fields(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[str]:
    """Yield the filled form fields of a page as `label: value`, and texts that somebody added on top of the page."""
    import pypdfium2.raw as pdfium

    form = document.formenv.raw if document.formenv else None
    buttons = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), _FIELDS_MAX)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, number)
        try:
            subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
            if subtype == pdfium.FPDF_ANNOT_FREETEXT:
                yield _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
            if subtype != pdfium.FPDF_ANNOT_WIDGET or form is None:
                continue
            if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD:
                continue
            value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
            if pdfium.FPDFAnnot_GetFormFieldType(form, annotation) in buttons:
                value = "yes" if pdfium.FPDFAnnot_IsChecked(form, annotation) else ""
            names = (pdfium.FPDFAnnot_GetFormFieldAlternateName, pdfium.FPDFAnnot_GetFormFieldName)
            label = _label_on_page(page, annotation) or next(
                filter(None, (_string(get, form, annotation) for get in names)), ""
            )
            if value.strip():
                yield f"{label.rstrip(': ')}: {value}" if label else value
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


_LABEL_WIDTH: Final = 300
_LABEL_HEIGHT: Final = 18
"""`_LABEL_WIDTH` and `_LABEL_HEIGHT` are a label's maximum distances to the left of and above its field, in points."""


def _label_on_page(page: pypdfium2.PdfPage, annotation: Any) -> str:
    """Return the label of a form field, or "": text that ends with a colon, to the left of the field or above it."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, box):
        return ""
    text = page.get_textpage()
    left = text.get_text_bounded(box.left - _LABEL_WIDTH, box.bottom, box.left, box.top)
    above = text.get_text_bounded(box.left - 5, box.top, box.right, box.top + _LABEL_HEIGHT)
    for near in (left, above):
        found = re.search(r"([^:\n]{1,80}):\s*$", near.translate(_PLAIN).replace("\r\n", "\n"))
        if found:
            return " ".join(found[1].split())
    return ""


def _string(get: Callable[..., int], *arguments: Any) -> str:
    """Call a PDFium function that writes a UTF-16 string into a buffer, and return the string."""
    size = get(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    get(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
