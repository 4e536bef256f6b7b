from anthropic import Anthropic
from pydantic import BaseModel


class Offer(BaseModel):
    product: str
    price: float


message = Anthropic().messages.parse(
    model="claude-sonnet-4-5",
    max_tokens=1_000,
    messages=[{"role": "user", "content": "Offer a lamp."}],
    output_format=Offer,
)
print(message.parsed_output)
