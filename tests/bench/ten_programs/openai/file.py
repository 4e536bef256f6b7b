from pathlib import Path

from openai import OpenAI

client = OpenAI()
file = client.files.create(file=Path("prices.csv"), purpose="user_data")
container = client.containers.create(name="prices", file_ids=[file.id])
answer = client.responses.create(
    model="gpt-5-mini",
    input="What does the lamp cost?",
    tools=[{"type": "code_interpreter", "container": container.id}],
)
print(answer.output_text, [each.path for each in client.containers.files.list(container.id)])
