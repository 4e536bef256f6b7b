"""The client: one async core, two small I/O backends, two faces.

From the top; each room imports only those below it (`pyproject.toml`, tested).

approvals   calls that wait for a yes or no, for the notebook and the command line
surface     the two faces: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio
groups      the operations by resource: a line per operation and face; methods: how an operation becomes one
rows/       `map`: a question over the rows of a DataFrame
operations/ each operation, written once: a module a resource
downloads/  contents of files, checked and continued         streams/  events, pages, ends that are waited for
request/    one request: what goes along, where to, how often, how long
results/    what is given back: models, DataFrames, answers in a shape
transport/  the verbs of I/O, blocking and on asyncio, and crews: the HTTP library stays in here
hooks       calling back into the user's code                places    where a download may go
errors      what is raised; cards: how results and errors show themselves
"""
