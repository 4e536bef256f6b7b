from openai import OpenAI
from pydantic import BaseModel


class Offer(BaseModel):
    product: str
    price: float


offer = OpenAI().responses.parse(model="gpt-5-mini", input="Offer a lamp.", text_format=Offer).output_parsed
print(offer)
