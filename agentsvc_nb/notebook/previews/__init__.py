"""Show files of any kind as static outputs.

preview   the preview of a file: a heading, then a picture, PDF pages, a table, text, JSON, sound or video
decoding  decode a file in a child process; read a local file as a DataFrame
child     the program of the child process
"""
