from typing import Any

from langgraph_sdk import get_sync_client

client = get_sync_client()
question: dict[str, Any] = {"messages": [{"role": "user", "content": "When is autumn?"}]}
for part in client.runs.stream(None, "agent", input=question, stream_mode="messages-tuple"):
    if part.event == "messages":
        print(part.data[0]["content"], end="", flush=True)
