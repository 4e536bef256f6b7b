from typing import Any

from langgraph_sdk import get_sync_client

client, runs = get_sync_client(), list[str]()
thread = client.threads.create()["thread_id"]
question: dict[str, Any] = {"messages": [{"role": "user", "content": "Count."}]}
try:
    for part in client.runs.stream(
        thread,
        "agent",
        input=question,
        stream_mode="messages-tuple",
        on_run_created=lambda made: runs.append(made["run_id"]),
    ):
        if part.event == "messages":
            print(part.data[0]["content"], flush=True)
except KeyboardInterrupt:
    client.runs.cancel(thread, runs[0], wait=True)
    print(client.runs.get(thread, runs[0])["status"])
