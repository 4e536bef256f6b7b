"""All limits, as named constants; those marked `ours` are not in the original description of the API.

The unit is in the name. Limits that an operator can change (`AGENTSVC_*`) are in `settings`, with these as defaults.
"""

from __future__ import annotations

from typing import Final

MB: Final = 1_000_000
MIB: Final = 1_048_576

# Search (docs/api/files.md "Search")
QUERY_MAX_CHARS: Final = 200
QUERY_MAX_WORDS: Final = 64  # ours: different words of a query; a run of CJK characters is one
SEARCH_MAX_RESULTS: Final = 50
SNIPPETS_PER_MATCH: Final = 2
INDEXED_TEXT_BYTES: Final = 1 * MB  # docs/api/files.md "What is read"

# Runs and files
ATTACHMENTS_MAX: Final = 10
FILES_FROM_MAX: Final = 200  # ours: files of another chat that a new one begins with
PARTS_MAX: Final = 100  # ours: of a multipart body, fields that count for nothing among them
FILE_MAX_BYTES: Final = 100 * MB
JSON_MAX_BYTES: Final = 16 * MIB  # ours: the JSON of a start, which is read into memory
JSON_VALUES_MAX: Final = 100_000  # ours: values in a JSON document, whether a request body or an agent's answer
JSON_DEPTH_MAX: Final = 100  # ours: nesting of a JSON document
INPUT_MAX_BYTES: Final = MB  # ours: any other JSON body, such as a tool's input
INPUT_VALUES_MAX: Final = 10_000  # ours: values in it, each of which is looked at five times until the input is checked
SEARCH_SECONDS: Final = 2  # ours: processor time of one search
REQUEST_SLACK_BYTES: Final = 1 * MIB  # docs/api/runs.md "Start": a request holds 10 files and this many other bytes
UPLOAD_TTL_SECONDS: Final = 24 * 3600
SYNC_HOLD_SECONDS: Final = 90
ASK_HANDLE_SECONDS: Final = 55
GATEWAY_SECONDS: Final = 120
STEPS_MAX: Final = 1_500
HOSTED_RUN_CENTS: Final = 50  # ours: what a run on a hosted model may cost when its start does not say it
OUTPUT_CONFIG_BYTES: Final = 64 * 1024  # docs/api/runs.md "Structured output"
IDEMPOTENCY_KEY_CHARS: Final = 128

# Client tools (ours, docs/api/client-tools.md)
CLIENT_TOOLS_MAX: Final = 16
CLIENT_TOOL_CHARS: Final = 2_000  # of a description
CALL_RESULT_BYTES: Final = MIB
CALL_WAIT_SECONDS: Final = 120  # how long a call waits for its caller
CALL_PENDING_SECONDS: Final = 40  # how often a caller that still works says so
CALL_WAIT_MAX_SECONDS: Final = 24 * 3600  # how long a caller may go on saying so
RESTARTS_MAX: Final = 3  # ours: takeovers without progress; work that crashes the service each time must not loop

# Names and media (ours)
PROJECT_NAME_CHARS: Final = 200
INSTRUCTIONS_CHARS: Final = 20_000
"""Of a project's instructions."""
SKILLS_MAX: Final = 50  # of a project
SKILL_FILES_MAX: Final = 100
SKILL_BYTES: Final = 500_000  # of a skill's files together
SESSION_CHARS: Final = 200
REASON_CHARS: Final = 2_000
FILE_NAME_CHARS: Final = 200
URL_CHARS: Final = 2_000
CAPTIONS_BYTES: Final = 2 * MB
CAPTIONS_SEGMENTS: Final = 20_000

# What the tools fetch (ours)
FETCH_BYTES: Final = 10 * MB
FETCH_SECONDS: Final = 20
FETCH_REDIRECTS: Final = 5

# Pictures that tools work on (ours)
PICTURE_PIXELS: Final = 50_000_000

# Keys and sign-in (ours)
KEY_NAME_CHARS: Final = 100
KEY_BUDGET_CENTS_MAX: Final = 10**12  # in micro-cents it still fits a 64-bit integer of the database
NONCE_MIN_CHARS: Final = 16
NONCE_MAX_CHARS: Final = 128
SESSION_SECONDS: Final = 14 * 24 * 3600
FORM_MAX_BYTES: Final = 64 * 1024

# Paging (docs/api/events.md, docs/api/files.md)
EVENTS_PAGE_DEFAULT: Final = 500
PAGE_MAX: Final = 1_000
INTEGER_MAX: Final = 2**63 - 1  # the largest integer that the database stores
EVENT_ID_MAX: Final = INTEGER_MAX

# What events hold (ours, docs/decisions/0031-large-payloads.md)
EVENT_PAYLOAD_BYTES: Final = 256_000  # a larger payload is shortened
EVENT_MAX_BYTES: Final = 16 * MIB  # a client takes no larger event
EVENT_PAGE_BYTES: Final = 500_000  # a page ends after so many bytes, but has at least one event
DELTA_CHARS: Final = 40_000  # text in one event; a character may take 6 bytes in JSON
OUTPUT_BYTES: Final = 4 * MB  # a run's answer
RESULT_BYTES: Final = 4 * MB  # a tool's result
CODE_CHARS: Final = 100  # the code of a failure
MESSAGE_CHARS: Final = 10_000  # the message of a failure, or of a job's progress
HEADLINE_CHARS: Final = 200  # the headline of `answer.basis`
BASIS_VALUES_MAX: Final = 50  # its values
BASIS_VALUE_CHARS: Final = 200  # one of them

# Servers of tools (ours, docs/mcp.md)
MCP_TOOLS_MAX: Final = 128  # of one server
MCP_DESCRIPTION_CHARS: Final = 2_000  # of a tool; a longer one is shortened
MCP_SCHEMA_BYTES: Final = 32_000  # of a tool's input; one with a larger schema is left out
MCP_MESSAGE_BYTES: Final = 16 * MIB  # of an answer on the wire
MCP_RESULT_CHARS: Final = 200_000  # of the text of a result; a longer one is shortened
MCP_PICTURES_MAX: Final = 8  # of a result
MCP_PICTURE_BYTES: Final = 10 * MB
MCP_CONNECT_SECONDS: Final = 60.0  # for a server to start, and to say what it has
MCP_CALL_SECONDS: Final = 300.0

# The service as a server of MCP (docs/mcp.md)
MCP_BODY_BYTES: Final = 150 * MB  # stated
MCP_READ_CHARS: Final = 50_000  # of a file's text at once
MCP_CONTENT_BYTES: Final = 10 * MB  # of a file read as a resource
MCP_LISTEN_TASKS_MAX: Final = 100  # that one stream listens to

# Connectors that sign in by OAuth (ours, docs/mcp.md)
OAUTH_CODE_SECONDS: Final = 60  # in which an authorization code is good for a token
OAUTH_CLIENT_BYTES: Final = 16 * 1024  # of the document that a connector's id names
OAUTH_CLIENT_SECONDS: Final = 5  # for fetching it
OAUTH_CLIENT_KEPT_SECONDS: Final = 3_600  # how long it is kept, whatever its server allows
OAUTH_REDIRECTS_MAX: Final = 50  # addresses in it that are looked at

# The event stream (docs/api/events.md "The stream")
STREAM_RETRY_MS: Final = 1_000
STREAM_READ_BYTES: Final = 64_000  # ours: what a stream holds for a slow reader, but for a larger event
STREAM_PING_SECONDS: Final = 15
DELTA_INTERVAL_SECONDS: Final = 0.05

# Refused uploads (docs/api/conventions.md): after an early response the service reads on for so many bytes and
# seconds. Closing at once would reset the connection, and the client might never see the response.
DISCARD_BYTES: Final = 64 * MB
DISCARD_SECONDS: Final = 2

# Before a key is seen (ours, docs/api/conventions.md "Before a key is seen")
HEAD_BYTES: Final = 64 * 1024  # of a request's address, headers and trailers
HEADER_BYTES: Final = 32  # that each header counts besides its text, as in HTTP/2
HEAD_SECONDS: Final = 20  # for all of a head
BODY_BYTES_PER_SECOND: Final = 1_000  # a body that is slower counts as silent
CONNECTIONS_MAX: Final = 8_192

# Answers that are not read (ours, docs/api/conventions.md "Before a key is seen")
UNREAD_SECONDS: Final = 120  # a peer may take nothing for so long
UNREAD_BYTES: Final = 128 * MB  # of all answers that wait for their readers; beyond that, 5 seconds are enough

# Rates and prices
FEEDBACK_PER_HOUR: Final = 60
FEEDBACK_SUMMARY_CHARS: Final = 2_000  # docs/api/feedback.md
FEEDBACK_FIELD_CHARS: Final = 300  # ours
WORK_PAGE_DEFAULT: Final = 100  # ours
FEEDBACK_PAGE_DEFAULT: Final = 20  # ours
FEEDBACK_PAGE_MAX: Final = 100  # ours
BUSY_RETRY_AFTER_SECONDS: Final = 5

# The client (docs/api/errors.md)
MAX_RETRIES: Final = 2
RETRY_AFTER_MAX_SECONDS: Final = 60
WAIT_SECONDS: Final = 20 * 60
RUN_POLL_SECONDS: Final = 3.0
JOB_POLL_SECONDS: Final = 2.0
JOB_POLL_FACTOR: Final = 1.5
JOB_POLL_MAX_SECONDS: Final = 15.0
