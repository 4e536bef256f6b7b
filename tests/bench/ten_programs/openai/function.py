import json

from openai import OpenAI
from openai.types.responses import FunctionToolParam, ResponseInputParam


def look_up(item: str) -> int:
    return {"lamp": 7}.get(item, 0)


tool: FunctionToolParam = {
    "type": "function",
    "name": "look_up",
    "description": "How many of an item are in stock.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"item": {"type": "string"}},
        "required": ["item"],
        "additionalProperties": False,
    },
}
client = OpenAI()
answer = client.responses.create(model="gpt-5-mini", input="How many lamps are in stock?", tools=[tool])
while calls := [each for each in answer.output if each.type == "function_call"]:
    results: ResponseInputParam = []
    for call in calls:
        count = str(look_up(**json.loads(call.arguments)))
        results.append({"type": "function_call_output", "call_id": call.call_id, "output": count})
    answer = client.responses.create(model="gpt-5-mini", input=results, previous_response_id=answer.id, tools=[tool])
print(answer.output_text)
