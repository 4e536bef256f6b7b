"""All limits, as named constants. The original description of the API lacks those marked `ours`.

A name ends with the unit, and the comment describes the limit. docs/limits.md shows both under the headings here.
Limits that operators can change (`AGENTSVC_*`) are the defaults of `settings`.
"""

from __future__ import annotations

from typing import Final

MB: Final = 1_000_000
MIB: Final = 1_048_576

# Search (docs/api/files.md "Search")
QUERY_MAX_CHARS: Final = 200  # the length of a search query
QUERY_MAX_WORDS: Final = 64  # ours: different words of a search; a run of CJK characters counts as one
SEARCH_MAX_RESULTS: Final = 50  # files that one search finds
SNIPPETS_PER_MATCH: Final = 2  # passages shown per file
INDEXED_TEXT_BYTES: Final = 1 * MB  # text of a file that search indexes (docs/api/files.md "What is read")

# Runs and files
ATTACHMENTS_MAX: Final = 10  # attachments of a start, and files of one upload
FILES_FROM_MAX: Final = 200  # ours: files that a new chat copies from another chat
FILE_VERSIONS_MAX: Final = 10  # ours: earlier versions of a file that are kept, in addition to the newest uploaded one
PARTS_MAX: Final = 100  # ours: parts of a multipart body, including ignored fields
FILE_MAX_BYTES: Final = 100 * MB  # size of an uploaded file; a setting
JSON_MAX_BYTES: Final = 16 * MIB  # ours: the JSON of a start, which is read into memory
JSON_VALUES_MAX: Final = 100_000  # ours: values in a JSON document: a request body, or an agent's answer
JSON_DEPTH_MAX: Final = 100  # ours: nesting of a JSON document
INPUT_MAX_BYTES: Final = MB  # ours: any other JSON body, such as a tool's input
INPUT_VALUES_MAX: Final = 10_000  # ours: values in any other JSON body
SEARCH_SECONDS: Final = 2  # ours: CPU time of one search
REQUEST_SLACK_BYTES: Final = 1 * MIB  # size of a request with files, beyond their contents (docs/api/runs.md "Start")
UPLOAD_TTL_SECONDS: Final = 24 * 3600  # how long the ID of a staged upload is valid; a setting
SYNC_HOLD_SECONDS: Final = 90  # how long the service holds a `sync` start; a setting
ASK_HANDLE_SECONDS: Final = 55  # time after which `ask` returns a job instead of the answer; a setting
GATEWAY_SECONDS: Final = 120  # time after which a request without a response gets a 504; a setting
STEPS_MAX: Final = 1_500  # model calls of a run
CENTS_MAX: Final = 10**9  # ours: the largest cost limit of a run, a key or a day
HOSTED_RUN_CENTS: Final = 50  # ours: the cost of a run on a hosted model, unless its start sets another limit
OUTPUT_CONFIG_BYTES: Final = 64 * 1024  # size of the schema of an answer (docs/api/runs.md "Structured output")
IDEMPOTENCY_KEY_CHARS: Final = 128  # the length of an idempotency key

# Client tools (ours, docs/api/client-tools.md)
CLIENT_TOOLS_MAX: Final = 16  # client tools of a run
CLIENT_TOOL_CHARS: Final = 2_000  # the length of a client tool's description
CALL_RESULT_BYTES: Final = MIB  # size of the result of a call
CALL_WAIT_SECONDS: Final = 120  # how long a call waits for its caller
CALL_PENDING_SECONDS: Final = 40  # how often a caller reports that it is still working
CALL_WAIT_MAX_SECONDS: Final = 24 * 3600  # how long a caller may keep a call waiting
RESTARTS_MAX: Final = 3  # ours: restarts without progress; stops work that crashes the service from looping

# Names and media (ours)
PROJECT_NAME_CHARS: Final = 200  # the length of a project's name
INSTRUCTIONS_CHARS: Final = 20_000  # the length of a project's instructions
SKILLS_MAX: Final = 50  # skills of a project
SKILL_FILES_MAX: Final = 100  # files of a skill
SKILL_BYTES: Final = 500_000  # size of all files of a skill
SESSION_CHARS: Final = 200  # the length of a session's label
REASON_CHARS: Final = 2_000  # the length of the reason for a refusal, which the agent gets
FOLDER_CHARS: Final = 1_000  # the length of the folder of a standing approval
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
PICTURE_PIXELS: Final = 50_000_000  # size of a picture to open; a larger one is refused

# Keys and sign-in (ours)
KEY_NAME_CHARS: Final = 100  # the length of a key's name
NONCE_MIN_CHARS: Final = 16  # the minimum length of the nonce with which a client asks the service for its proof
NONCE_MAX_CHARS: Final = 128  # the maximum length of the nonce
SESSION_SECONDS: Final = 14 * 24 * 3600  # how long a browser stays signed in
FORM_MAX_BYTES: Final = 64 * 1024  # size of a form of the pages

# Paging (docs/api/events.md, docs/api/files.md)
EVENTS_PAGE_DEFAULT: Final = 500  # events of a page, unless the request sets a number
PAGE_MAX: Final = 1_000  # entries or events of a page
INTEGER_MAX: Final = 2**63 - 1  # ours: the largest integer that the database stores
EVENT_ID_MAX: Final = INTEGER_MAX  # ours: the largest ID of an event

# What events hold (ours)
EVENT_PAYLOAD_BYTES: Final = 256_000  # a larger payload is shortened
EVENT_MAX_BYTES: Final = 16 * MIB  # the largest event that a client accepts
ANSWER_BYTES: Final = 64 * MIB  # the largest response that a client accepts, except the content of a file
EVENT_PAGE_BYTES: Final = 500_000  # size of a page of events, which has at least one event
DELTA_CHARS: Final = 40_000  # text in one event; a character may take 6 bytes in JSON
OUTPUT_BYTES: Final = 4 * MB  # a run's answer
RESULT_BYTES: Final = 4 * MB  # a tool's result
CODE_CHARS: Final = 100  # the code of a failure
MESSAGE_CHARS: Final = 10_000  # the message of a failure, or of a job's progress
HEADLINE_CHARS: Final = 200  # the headline of `answer.basis`
BASIS_VALUES_MAX: Final = 50  # values of `answer.basis`
BASIS_VALUE_CHARS: Final = 200  # the length of one value
BASIS_NUMBERS_MAX: Final = 200  # numbers of `answer.basis`; `number_counts` counts all numbers
BASIS_NUMBER_CHARS: Final = 60  # the length of the text of one number
BASIS_SOURCE_CHARS: Final = 200  # the length of a number's source, row, column and path
PLAN_STEPS_MAX: Final = 12  # steps of `plan.changed`
PLAN_STEP_CHARS: Final = 120  # the length of one step; a longer one is cut

# MCP servers whose tools the agent uses (ours, docs/mcp.md)
MCP_TOOLS_MAX: Final = 128  # tools of one server
MCP_DESCRIPTION_CHARS: Final = 2_000  # the length of a tool's description; a longer one is shortened
MCP_SCHEMA_BYTES: Final = 32_000  # size of a tool's input schema; tools with a larger one are left out
MCP_MESSAGE_BYTES: Final = 16 * MIB  # size of a response
MCP_RESULT_CHARS: Final = 200_000  # the length of the text of a result; a longer one is shortened
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
MCP_LISTEN_TASKS_MAX: Final = 100  # tasks that one stream listens to

# The event stream (docs/api/events.md "The stream")
STREAM_RETRY_MS: Final = 1_000  # time after which a browser reconnects
STREAM_READ_BYTES: Final = 64_000  # ours: bytes buffered for a slow reader of a stream; a larger event is also sent
STREAM_PING_SECONDS: Final = 15  # time without an event, after which a comment keeps the connection alive
DELTA_INTERVAL_SECONDS: Final = 0.05  # text that arrives within this time becomes one event

# Refused uploads (docs/api/conventions.md "Refusals")
# Closing at once would reset the connection, and the client might never see the early response.
DISCARD_BYTES: Final = 64 * MB  # bytes of a refused upload that the service still reads
DISCARD_SECONDS: Final = 2  # time for which the service reads a refused upload

# Heads, slow bodies and connections (ours, docs/api/conventions.md "Before a key is seen")
HEAD_BYTES: Final = 64 * 1024  # size of a request's address and headers
HEADER_BYTES: Final = 32  # bytes added to the text of each header, as in HTTP/2
BODY_BYTES_PER_SECOND: Final = 1_000  # a slower body counts as stalled
CONNECTIONS_MAX: Final = 8_192  # connections open at once
ACCOUNT_REQUESTS_MAX: Final = 4_096  # requests of one account, open at once
UNREAD_SECONDS: Final = 120  # time in which a peer must read a piece of a stream or download

# Feedback, and a full service
FEEDBACK_PER_HOUR: Final = 60  # reports of an account per hour
FEEDBACK_SUMMARY_CHARS: Final = 2_000  # the length of a report's summary (docs/api/feedback.md)
FEEDBACK_FIELD_CHARS: Final = 300  # ours: the length of any other field of a report
WORK_PAGE_DEFAULT: Final = 100  # ours: runs or jobs of a page, unless the request sets a number
FEEDBACK_PAGE_DEFAULT: Final = 20  # ours: reports of a page, unless the request sets a number
FEEDBACK_PAGE_MAX: Final = 100  # ours: the largest number of reports of a page
BUSY_RETRY_AFTER_SECONDS: Final = 5  # `Retry-After` while the service is at capacity

# The client (docs/api/errors.md)
MAX_RETRIES: Final = 2  # retries of a request, unless the caller sets another number
RETRY_AFTER_MAX_SECONDS: Final = 60  # a longer `Retry-After` raises the error at once
WAIT_SECONDS: Final = 20 * 60  # how long `wait` waits, unless the caller sets another time
RUN_POLL_SECONDS: Final = 3.0  # pause between two polls of a run without an event stream
JOB_POLL_SECONDS: Final = 2.0  # pause before the second poll of a job
JOB_POLL_FACTOR: Final = 1.5  # factor by which each further pause grows
JOB_POLL_MAX_SECONDS: Final = 15.0  # the longest pause
