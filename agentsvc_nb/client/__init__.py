"""The Python client: `AgentService` and `AsyncAgentService`, with one request core and two I/O implementations.

Modules from the top down. Each imports only from those below it (`pyproject.toml`, tested).

api         the two clients: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio
batch       `map`: a question over the rows of a DataFrame (batch_rows: its rows, prompts and columns)
runs, jobs, tools, files, resources  for each resource a class of coroutine methods and its blocking twin
faces       turns coroutine methods into blocking ones, and iterates over pages
approvals   tool calls that wait for approval, for the notebook and the command line
downloads   verified and resumed downloads of files, and the tables of a run
waiting     waits for runs and jobs to end
streams     iterates over a run's events, and resumes after a lost connection (sse decodes them)
client_tools  functions that a run's agent may call, executed by the program that follows the run
events      a class for each type of event, and pages of events
core        one request: address, key, retries, deadline and errors
options, references, uploads, origin, history, log  the inputs of a request, and its record
models      results: records, lists, and answers that fit a given schema
transport/  blocking and asyncio I/O; only this folder uses the HTTP library
errors      the exceptions; cards: how notebooks display results and errors
"""
