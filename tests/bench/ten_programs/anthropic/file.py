from pathlib import Path

from anthropic import Anthropic

client = Anthropic()
file = client.beta.files.upload(file=Path("prices.csv"))
message = client.beta.messages.create(
    model="claude-sonnet-4-5",
    max_tokens=1_000,
    betas=["code-execution-2025-08-25", "files-api-2025-04-14"],
    tools=[{"type": "code_execution_20250825", "name": "code_execution"}],
    messages=[
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What does the lamp cost?"},
                {"type": "container_upload", "file_id": file.id},
            ],
        }
    ],
)
text = "".join(block.text for block in message.content if block.type == "text")
print(text, [each.filename for each in client.beta.files.list()])
