"""What runs in the process that decodes one file: `python -m ...child DECODER FILE` prints its findings as JSON.

pictures   Pillow      pages   PDFium      parquet   DuckDB      workbook   calamine
"""
