"""The notebook: magics, what they show, and what they remember. Presentation only; the client does the work.

From the top; each room imports only those below it (`pyproject.toml`, tested).

magics/     what can be typed: declares arguments, calls a command, completes names
commands    what the magics do, as plain functions, without IPython
widgets/    what can be clicked: cards, bars, forms, files, a gallery, a chat; `outputs`: where a cell shows things
connection  which service, chat and project             feedback    to the team of the service
tools/      the catalog, the fields of an input, a cell that calls one, a call
ask/        what a cell asks; asked once, in variants, of each row; asked anew or known
jobs/       one in its cell, some in the background; list, watch, show and cancel them
runs/       a run: its stream, its one output, its answer; in the background; list, wait, cancel, review; approvals
files/      the files of a chat: list, put, get, look at, search, pictures; what goes along with a question
previews/   a file of any kind as one safe, static output
here        the session, for functions called without a magic
host        what the cell runs in: a front end with live outputs, a page of voila, a terminal
state/      connection and chat (`session`), keys, the journal of runs and jobs, the turns that were shown
display/    events to the state of a view (`transcript`), that state to a safe bundle (`render`), screens, tables
template    `{{name}}` in a prompt                       nested      loops within loops, on request
errors      what a failed cell shows; limits in words
"""
