"""Previews of workspace files as static outputs. The kind is detected from the bytes: name and media type may be wrong.

kinds     the file of a preview (first bytes, download of the rest, text), and the detection of its kind
bundle    the whole preview: a heading, then the part for the kind of file; pictures, PDF, sound, video, tables
text      plain text, hex dump, JSON, Markdown; HTML and SVG in a sandbox
decoding  the parent's side of the process that decodes files; files as DataFrames      child  the code in that process
"""
