"""The process that decodes files: `python -m ...child DECODER` reads paths and prints its findings, both as JSON lines.

pictures   previews, thumbnails and large views, with Pillow; pages of PDF with PDFium
tables     Parquet with DuckDB, workbooks with calamine
"""


class CannotDecode(Exception):
    """A decoder refuses a file. The message is the end of a sentence: "it has no pages."."""
