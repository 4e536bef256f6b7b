from typing import Any

from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import APIStatusError, RateLimitError

client = get_sync_client(timeout=20)
try:
    question: dict[str, Any] = {"messages": [{"role": "user", "content": "When is autumn?"}]}
    state: Any = client.runs.wait(None, "agent", input=question)
    print(state["messages"][-1]["content"])
except RateLimitError as error:
    print("Again in", error.response.headers.get("retry-after"))
except APIStatusError as error:
    print(error.status_code, error.message)
