import time
from typing import Any

from langgraph_sdk import get_sync_client

client = get_sync_client()
thread = client.threads.create()["thread_id"]
question: dict[str, Any] = {"messages": [{"role": "user", "content": "Two pictures for our autumn sale."}]}
run = client.runs.create(thread, "agent", input=question)
while run["status"] in ("pending", "running"):
    print(run["status"])
    time.sleep(10)
    run = client.runs.get(thread, run["run_id"])
state: Any = client.threads.get_state(thread)["values"]
print(state["messages"][-1]["content"])
