"""The notebook: magics, widgets, their outputs and their state. Presentation only; the client does the work.

The layers from the top; each imports only those below it (`pyproject.toml`, tested).

magics/     the magics: declare arguments, call a command, complete names
commands    the commands behind the magics as plain functions, without IPython; `Files`
widgets/    cards, progress bars, forms, file browser, gallery, chat; `outputs`: the outputs of a cell by host
connection  service, chat and project in use; reports to the team of the service
jobs/       the service's tools, called at once or as jobs: in their cell or in the background
ask/        questions: one, variants, one for each row; the run of each: its stream, output and answer; list, wait,
            cancel, review; approvals
kernel/     the agent in the user's kernel: variables that it sees, approved code that runs there
files/      the files of a chat: list, put, get, preview, search, gallery; attachments of a question
previews/   a file of any kind as one safe, static output
host        detection of the host (live front end, page of voila, static host, terminal); the session, for public
            functions called without a magic; nested event loops, on request
state/      session (connection and chat), keys, journal of runs and jobs, execution history
display/    events to the view of a run (`transcript`), that view to a safe bundle (`render`), screens, tables
template    `{{name}}` in a prompt
errors      the exceptions of a failed cell; limits in words
"""
