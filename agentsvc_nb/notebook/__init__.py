"""The notebook: magics, widgets, their outputs and their state. Presentation only; the client does the work.

The layers from the top; each imports only those below it (`pyproject.toml`, tested).

magics/     the magics: declare arguments, call a command, complete names
commands    the commands behind the magics as plain functions, without IPython
widgets/    cards, progress bars, forms, file browser, gallery, chat; `outputs`: the outputs of a cell by host
connection  service, chat and project in use            feedback    reports to the team of the service
tools/      the catalog of tools, the fields of an input, the cell that calls a tool, the call
ask/        questions: one, variants, one for each row; whether to ask or to show an earlier run again
jobs/       tool jobs in their cell or in the background; list, watch, show and cancel them
runs/       a run's stream, output and answer; runs in the background; list, wait, cancel, review; approvals
files/      the files of a chat: list, put, get, preview, search, gallery; attachments of a question
previews/   a file of any kind as one safe, static output
here        the session, for public functions called without a magic
host        detection of the host: live front end, page of voila, static host, terminal
state/      session (connection and chat), keys, journal of runs and jobs, execution history
display/    events to the view of a run (`transcript`), that view to a safe bundle (`render`), screens, tables
template    `{{name}}` in a prompt                       nested      nested event loops, on request
errors      the exceptions of a failed cell; limits in words
"""
