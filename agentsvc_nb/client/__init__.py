"""The Python client: `AgentService` and `AsyncAgentService`, with one request core and two I/O implementations.

The list goes from the top layer to the bottom layer. A module imports only modules that are below it in the list.
`pyproject.toml` defines this rule, and a test checks it.

api         the two clients: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio
batch       `map`: asks one question for each row of a DataFrame (batch_rows: its rows, prompts and columns)
runs, jobs, tools, files, resources  for each resource, a class of coroutine methods and a class of blocking methods
faces       turns coroutine methods into blocking methods, and iterates over pages
approvals   tool calls that wait for approval, for the notebook and the command line
downloads   verified and resumed downloads of files, and the tables of a run
waiting     waits for runs and jobs to end
streams     iterates over a run's events, and resumes after a lost connection (sse decodes server-sent events)
client_tools  functions that a run's agent may call, executed by the program that follows the run
events      a class for each type of event, and pages of events
core        sends a request: adds address and key, retries, keeps the deadline, and raises errors
options, references, uploads, origin  prepare the inputs of a request
history, log  record the requests
models      results: records, lists, and structured answers that fit the caller's schema
transport/  blocking and asyncio I/O; only this folder uses the HTTP library
errors      the exceptions; cards: how notebooks display results and errors
"""
