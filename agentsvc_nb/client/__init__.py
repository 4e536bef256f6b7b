"""The client: one core of coroutines, two I/O implementations (blocking and asyncio), and two faces.

Its modules and folders, from the top; each imports only from those below it (`pyproject.toml`, tested).

api         the two clients, `AgentService` for scripts and notebooks and `AsyncAgentService` for asyncio
batch       `map`: a question over the rows of a DataFrame (batch_rows: its rows, prompts and columns)
runs, jobs, tools, files, resources  a class of coroutine methods for each resource, and next to it its blocking twin
faces       how a coroutine method becomes a blocking one, and the iterators over pages
approvals   tool calls that wait for approval, for the notebook and the command line
downloads   contents of files, verified and resumed, and the tables of a run
waiting     for the ends of runs and jobs
streams     a run's events, as callers iterate over them, resumed after a cut (sse decodes them)
client_tools  functions that a run's agent may call, executed where the run is followed
events      a class for each type of event, and pages of them
core        one request: address, key, retries, deadline, and the error of a failure
options, references, uploads, origin, history, log  what goes into a request, and what is noted of it
models      the results: records, lists, answers of a given schema
transport/  the I/O, blocking and on asyncio: only this folder uses the HTTP library
errors      the exceptions; cards: how results and errors are displayed
"""
