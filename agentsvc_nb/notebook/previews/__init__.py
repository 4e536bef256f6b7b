"""Previews of workspace files as static outputs. The kind is detected from the bytes: name and media type may be wrong.

bundle      the whole preview: a heading, then the part for the kind of file, or a sentence why there is none
kinds       the file of a preview (first bytes, download of the rest, text), and the detection of its kind
media       pictures, pages of PDF, sound, video; thumbnails of a gallery         tables     CSV, Parquet, Excel
text        plain text, hex dump, Markdown; HTML and SVG in a sandbox             json_tree  JSON
process     the parent's side of the process that decodes files                   child/     the code in that process
"""
