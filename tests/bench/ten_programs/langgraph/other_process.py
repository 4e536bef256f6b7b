import sys

from langgraph_sdk import get_sync_client

thread, run, seen = sys.argv[1:]
for part in get_sync_client().runs.join_stream(thread, run, last_event_id=seen, stream_mode="messages-tuple"):
    if part.event == "messages":
        print(part.data[0]["content"], end="", flush=True)
