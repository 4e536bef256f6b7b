"""All limits of the service and the client. A comment that begins with `ours` marks a limit that the original
description of the API does not contain.

The name of a limit ends with its unit, and its comment describes it. docs/limits.md is generated from names, comments
and headings. If operators can change a limit, the constant is the default of the setting.
"""

from __future__ import annotations

from typing import Final

MB: Final = 1_000_000
MIB: Final = 1_048_576

# Search (docs/api/files.md "Search")
QUERY_MAX_CHARS: Final = 200  # the length of a search query
QUERY_MAX_WORDS: Final = 64  # ours: different words of a search; consecutive CJK characters count as one word
SEARCH_MAX_RESULTS: Final = 50  # files that one search finds
SNIPPETS_PER_MATCH: Final = 2  # passages shown for each file that a search finds
INDEXED_TEXT_BYTES: Final = 1 * MB  # text of a file that search indexes (docs/api/files.md "What is read")

# Runs and files
ATTACHMENTS_MAX: Final = 10  # attachments of a start, and files of one upload
FILES_FROM_MAX: Final = 200  # ours: files that a new chat copies from another chat
FILE_VERSIONS_MAX: Final = 10  # ours: earlier versions of a file that are kept, in addition to the newest uploaded one
PARTS_MAX: Final = 100  # ours: parts of a multipart body, including ignored fields
FILE_MAX_BYTES: Final = 100 * MB  # size of an uploaded file; a setting
JSON_MAX_BYTES: Final = 16 * MIB  # ours: the size of a start's JSON, which is read into memory
JSON_VALUES_MAX: Final = 100_000  # ours: values in a JSON document: a request body, or an agent's answer
JSON_DEPTH_MAX: Final = 100  # ours: levels of nesting in a JSON document
INPUT_MAX_BYTES: Final = MB  # ours: the size of any other JSON body, such as a tool's input
INPUT_VALUES_MAX: Final = 10_000  # ours: values in any other JSON body
SEARCH_SECONDS: Final = 2  # ours: CPU time of one search
REQUEST_SLACK_BYTES: Final = 1 * MIB  # size of a request with files, without their contents (docs/api/runs.md "Start")
UPLOAD_TTL_SECONDS: Final = 24 * 3600  # how long the ID of a staged upload is valid; a setting
SYNC_HOLD_SECONDS: Final = 90  # how long a `sync` start waits for the run to end; a setting
ASK_HANDLE_SECONDS: Final = 55  # time after which `ask` returns a job instead of the answer; a setting
GATEWAY_SECONDS: Final = 120  # time after which a request without a response gets a 504; a setting
STEPS_MAX: Final = 1_500  # model calls of a run
CENTS_MAX: Final = 10**9  # ours: the largest cost limit of a run, a key or a day
HOSTED_RUN_CENTS: Final = 50  # ours: the cost limit of a run on a hosted model, unless its start sets another limit
OUTPUT_CONFIG_BYTES: Final = 64 * 1024  # size of the schema for an answer (docs/api/runs.md "Structured output")
IDEMPOTENCY_KEY_CHARS: Final = 128  # the length of an idempotency key

# Client tools (ours, docs/api/client-tools.md)
CLIENT_TOOLS_MAX: Final = 16  # client tools of a run
CLIENT_TOOL_CHARS: Final = 2_000  # the length of a client tool's description
CALL_RESULT_BYTES: Final = MIB  # size of the result of a client tool's call
CALL_WAIT_SECONDS: Final = 120  # how long a call of a client tool waits for the caller
CALL_PENDING_SECONDS: Final = 40  # how often a caller reports that it is still working
CALL_WAIT_MAX_SECONDS: Final = 24 * 3600  # how long a caller can keep a call waiting
RESTARTS_MAX: Final = 3  # ours: restarts of a run or job without progress

# Names and media (ours)
PROJECT_NAME_CHARS: Final = 200  # the length of a project's name
INSTRUCTIONS_CHARS: Final = 20_000  # the length of a project's instructions
SKILLS_MAX: Final = 50  # skills of a project
SKILL_FILES_MAX: Final = 100  # files of a skill
SKILL_BYTES: Final = 500_000  # size of all files of a skill
SESSION_CHARS: Final = 200  # the length of a session's label
REASON_CHARS: Final = 2_000  # the length of the reason for refusing a tool call
FOLDER_CHARS: Final = 1_000  # the length of the folder path in a standing approval
STANDING_SECONDS: Final = 3_600  # how long a standing approval for an hour lasts
FILE_NAME_CHARS: Final = 200  # the length of a file's display name
URL_CHARS: Final = 2_000  # the length of an address to fetch
TRANSCRIPT_BYTES: Final = 2 * MB  # size of a transcript
TRANSCRIPT_SEGMENTS: Final = 20_000  # segments of a transcript

# What the tools fetch (ours)
FETCH_BYTES: Final = 10 * MB  # size of a page or picture
FETCH_SECONDS: Final = 20  # time to fetch a page or picture
FETCH_REDIRECTS: Final = 5  # redirects that the service follows

# Pictures that tools work on (ours)
PICTURE_PIXELS: Final = 50_000_000  # number of pixels of a picture; a larger picture is refused

# Keys and sign-in (ours)
KEY_NAME_CHARS: Final = 100  # the length of a key's name
NONCE_MIN_CHARS: Final = 16  # the minimum length of the nonce in a request for the service's proof
NONCE_MAX_CHARS: Final = 128  # the maximum length of the nonce
SESSION_SECONDS: Final = 14 * 24 * 3600  # how long a browser stays signed in
FORM_MAX_BYTES: Final = 64 * 1024  # size of a form that a web page of the service sends

# Paging (docs/api/events.md, docs/api/files.md)
EVENTS_PAGE_DEFAULT: Final = 500  # events of a page, unless the request sets another number
PAGE_MAX: Final = 1_000  # the largest number of entries or events of a page
INTEGER_MAX: Final = 2**63 - 1  # ours: the largest integer that the database stores
EVENT_ID_MAX: Final = INTEGER_MAX  # ours: the largest ID of an event

# What events hold (ours)
EVENT_PAYLOAD_BYTES: Final = 256_000  # the size of an event's payload; a larger payload is shortened
EVENT_MAX_BYTES: Final = 16 * MIB  # the largest event that a client accepts
ANSWER_BYTES: Final = 64 * MIB  # the largest response that a client accepts, except the content of a file
EVENT_PAGE_BYTES: Final = 500_000  # size of a page of events; a larger event is alone on its page
DELTA_CHARS: Final = 40_000  # text in one event; a character can take 6 bytes in JSON
OUTPUT_BYTES: Final = 4 * MB  # size of a run's answer
RESULT_BYTES: Final = 4 * MB  # size of a tool's result
CODE_CHARS: Final = 100  # the length of a failure's code
MESSAGE_CHARS: Final = 10_000  # the length of the message of a failure, or of a job's progress
HEADLINE_CHARS: Final = 200  # the length of the headline of `answer.basis`
BASIS_VALUES_MAX: Final = 50  # values of `answer.basis`
BASIS_VALUE_CHARS: Final = 200  # the length of one value of `answer.basis`
BASIS_NUMBERS_MAX: Final = 200  # numbers of `answer.basis`; `number_counts` counts all numbers
BASIS_NUMBER_CHARS: Final = 60  # the length of the text of one number
BASIS_SOURCE_CHARS: Final = 200  # the length of a number's source, row, column and path
PLAN_STEPS_MAX: Final = 12  # steps of `plan.changed`
PLAN_STEP_CHARS: Final = 120  # the length of one step of a plan; a longer text is truncated

# MCP servers whose tools the agent uses (ours, docs/mcp.md)
MCP_TOOLS_MAX: Final = 128  # tools of one server
MCP_DESCRIPTION_CHARS: Final = 2_000  # the length of a tool's description; a longer text is shortened
MCP_SCHEMA_BYTES: Final = 32_000  # size of a tool's input schema; tools with a larger schema are left out
MCP_MESSAGE_BYTES: Final = 16 * MIB  # size of a server's response
MCP_RESULT_CHARS: Final = 200_000  # the length of a result's text; a longer text is shortened
MCP_PICTURES_MAX: Final = 8  # pictures of a result
MCP_PICTURE_BYTES: Final = 10 * MB  # size of a picture of a result
MCP_CONNECT_SECONDS: Final = 60.0  # time for a server to start and list its tools
MCP_CALL_SECONDS: Final = 300.0  # time for one call of a tool

# The service as an MCP server (ours, docs/mcp.md)
MCP_BODY_BYTES: Final = 150 * MB  # stated: size of a request
MCP_READ_CHARS: Final = 50_000  # the length of a file's text in one answer
MCP_CONTENT_BYTES: Final = 10 * MB  # size of a file read as a resource
MCP_FILES_BYTES: Final = 10 * MB  # size of all files in an `ask`
MCP_CHATS_MAX: Final = 20  # chats listed at once
MCP_LISTEN_TASKS_MAX: Final = 100  # tasks about which one stream sends updates

# The event stream (docs/api/events.md "The stream")
STREAM_RETRY_MS: Final = 1_000  # time after which a browser reconnects
STREAM_READ_BYTES: Final = 64_000  # ours: bytes buffered for a slow reader of a stream; a larger event is also sent
STREAM_PING_SECONDS: Final = 15  # time without an event, after which a comment keeps the connection open
DELTA_INTERVAL_SECONDS: Final = 0.05  # text that arrives within this time becomes one event

# Refused uploads (docs/api/conventions.md "Refusals")
# If the service closed the connection immediately, the client might never see the response.
DISCARD_BYTES: Final = 64 * MB  # bytes of a refused upload that the service reads before it closes the connection
DISCARD_SECONDS: Final = 2  # how long the service reads a refused upload

# Headers, slow bodies and connections (ours, docs/api/conventions.md "Before a key is seen")
HEAD_BYTES: Final = 64 * 1024  # size of a request's address and headers
HEADER_BYTES: Final = 32  # bytes that each header counts in addition to its text, as in HTTP/2
BODY_BYTES_PER_SECOND: Final = 1_000  # the minimum speed of a request's body; a slower body counts as stalled
CONNECTIONS_MAX: Final = 8_192  # connections that are open at the same time
ACCOUNT_REQUESTS_MAX: Final = 4_096  # requests of one account that are open at the same time
UNREAD_SECONDS: Final = 120  # time in which a client must read a piece of a stream or download

# Feedback, lists, and a service at capacity
FEEDBACK_PER_HOUR: Final = 60  # feedback reports of an account per hour
FEEDBACK_SUMMARY_CHARS: Final = 2_000  # the length of a report's summary (docs/api/feedback.md)
FEEDBACK_FIELD_CHARS: Final = 300  # ours: the length of any other field of a report
WORK_PAGE_DEFAULT: Final = 100  # ours: runs or jobs of a page, unless the request sets another number
FEEDBACK_PAGE_DEFAULT: Final = 20  # ours: feedback reports of a page, unless the request sets another number
FEEDBACK_PAGE_MAX: Final = 100  # ours: the largest number of feedback reports of a page
BUSY_RETRY_AFTER_SECONDS: Final = 5  # `Retry-After` while the service is at capacity

# The client (docs/api/errors.md)
MAX_RETRIES: Final = 2  # retries of a request, unless the caller sets another number
RETRY_AFTER_MAX_SECONDS: Final = 60  # the longest `Retry-After` for which the client waits
WAIT_SECONDS: Final = 20 * 60  # the timeout of `wait`, unless the caller sets another time
RUN_POLL_SECONDS: Final = 3.0  # pause between two requests for a run's state, if there is no event stream
JOB_POLL_SECONDS: Final = 2.0  # pause between the first two requests for a job's state
JOB_POLL_FACTOR: Final = 1.5  # factor by which each further pause is longer
JOB_POLL_MAX_SECONDS: Final = 15.0  # the longest pause
