"""Previews of workspace files as static outputs.

preview   the whole preview: a heading, then a picture, PDF pages, a table, text, JSON, sound or video
decoding  the parent's side of the process that decodes files; files as DataFrames      child  the code in that process
"""
