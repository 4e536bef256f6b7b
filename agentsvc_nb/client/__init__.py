"""The client: one async core, two small I/O backends, two faces.

From the top; each room imports only those below it (`pyproject.toml`, tested).

api         the two faces, `AgentService` for scripts and notebooks and `AsyncAgentService` for asyncio, and the
            operations by resource; methods: the descriptors that make an operation a method of either face
batch/      `map`: a question over the rows of a DataFrame
operations/ each operation, written once: a module a resource
approvals   tool calls that wait for approval, for the notebook and the command line
downloads/  contents of files, checked and continued         streams/  events, pages, waiting for the end
request/    one request: inputs, safe file names, options, origin, retries, history
models      what is returned: records, lists, answers of a given schema
transport/  the verbs of I/O, blocking and on asyncio, and worker pools: the HTTP library stays in here
errors      what is raised; cards: how results and errors show themselves
"""
