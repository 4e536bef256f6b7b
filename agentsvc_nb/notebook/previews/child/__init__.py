"""What runs in the process that decodes files: `python -m ...child DECODER` reads their places and prints its findings
as JSON, a line each.

pictures   Pillow      pages   PDFium      parquet   DuckDB      workbook   calamine
small, large   pictures for a gallery
"""
