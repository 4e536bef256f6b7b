"""The client: one core of coroutines, two I/O implementations (blocking and asyncio), and two faces.

Its modules and folders, from the top; each imports only from those below it (`pyproject.toml`, tested).

api         the two faces, `AgentService` for scripts and notebooks and `AsyncAgentService` for asyncio, and the
            operations by resource; methods: the descriptors that make an operation a method of either face
batch/      `map`: a question over the rows of a DataFrame
operations/ each operation, written once: one module per resource
approvals   tool calls that wait for approval, for the notebook and the command line
downloads/  contents of files, verified and resumed          streams/  events, pages, waiting for the end
request/    one request: inputs, safe file names, options, origin, retries, history
models      the results: records, lists, answers of a given schema
transport/  the I/O, blocking and on asyncio, and worker pools: only this folder uses the HTTP library
errors      the exceptions; cards: how results and errors are displayed
"""
