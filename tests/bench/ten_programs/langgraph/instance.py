from typing import Any

from langgraph_sdk import get_sync_client
from pydantic import BaseModel


class Offer(BaseModel):
    product: str
    price: float


question: dict[str, Any] = {"messages": [{"role": "user", "content": "Offer a lamp."}]}
state: Any = get_sync_client().runs.wait(None, "agent", input=question)
print(Offer.model_validate(state["structured_response"]))
