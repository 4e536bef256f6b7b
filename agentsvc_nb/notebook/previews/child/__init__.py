"""The process that decodes files: `python -m ...child DECODER` reads paths and prints answers, both as JSON lines.

pictures   previews, thumbnails and large views, with Pillow; pages of PDF with PDFium
tables     tables of any format, by the one reader
"""


class CannotDecode(Exception):
    """Raised when a decoder refuses a file. The message is the end of a sentence, such as "it has no pages."."""
