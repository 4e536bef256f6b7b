"""The notebook: magics, widgets, their outputs and their state. It presents what the client (`agentsvc_nb.client`)
does.

The list is in the order of the layers. Each module imports only modules below it (the contract is in
`pyproject.toml`).

magics/     declare the arguments of each magic, call a command, complete names
commands    the commands behind the magics as plain functions, without IPython; `Files` and `Gallery`
widgets/    cards, progress bars, forms, file browser, gallery and chat; the outputs of a cell by kind of host
models      list models and choose one
connection  choose the service, the chat and the project; send reports to the team of the service
jobs/       call the service's tools, directly or as jobs, in their cell or in the background
ask/        ask a question, or one for each row of a table; follow, list, show, cancel and undo runs; approve tool calls
kernel/     let the agent see variables of the user's kernel and run approved code there
files/      list, upload, download, preview and search the files of a chat; attach files to a question
previews/   show a file of any kind as one safe, static output
host        detect the host of a cell: live front end, voila page, static host or terminal
state/      the session of a notebook: connection, chat, keys, execution history, journal
display/    build a run's state from its events (`transcript`), render it as a bundle (`render`), draw it on a screen
template    replace `{{name}}` in a prompt
errors      the exceptions that make a cell fail
redaction   find secrets in a text and replace them

Words that the modules share:

run         the work of the agent on one question
turn        a question in a chat, with its answer
job         a call of a tool that takes a while
bundle      one output, as HTML and as plain text
screen      displays a run or job while it is active
journal     lists the runs and jobs that were started from this machine
"""
