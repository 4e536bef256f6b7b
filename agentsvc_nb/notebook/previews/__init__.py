"""A preview of a workspace file as one static output. The kind is read from the bytes; name and media type are claims.

bundle      the whole preview: heading, then the part for the kind of file, or a sentence why there is none
kinds       the file, its first bytes, the way to the rest; which kind it is; bytes to text
media       pictures, pages of PDF, sound, video; thumbnails of a gallery         tables     CSV, Parquet, Excel
text        text as it stands, bytes as a hex dump, Markdown; HTML and SVG in a sandbox      json_tree  JSON
process     a decoder in a process of its own; child/ is what runs there
"""
