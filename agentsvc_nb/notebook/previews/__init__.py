"""A file of the workspace as one static output. What it is, is told from its bytes; its name and media type are claims.

bundle      the whole of it: heading, then the kind's own module, or a sentence why there is none
subject     the file, its first bytes, and the way to the rest         kinds     what it is
decoding    bytes to text                                              process   a decoder in a process of its own
picture     pages      PDF                      tabular   CSV     sheets    Parquet, Excel
tree        JSON       prose     Markdown       markup    HTML, SVG in a sandbox
playable    sound, video                        wording   text    raw       bytes
thumbnails  pictures of a gallery               figures   pictures as HTML      heads     first rows
child/      what runs in that process: pictures, pages of PDF, workbooks, Parquet
"""
