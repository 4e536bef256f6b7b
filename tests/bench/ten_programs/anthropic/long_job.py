import time

from anthropic import Anthropic

client = Anthropic()
batch = client.messages.batches.create(
    requests=[
        {
            "custom_id": f"headline-{number}",
            "params": {
                "model": "claude-sonnet-4-5",
                "max_tokens": 1_000,
                "messages": [{"role": "user", "content": "A headline for our autumn sale."}],
            },
        }
        for number in range(2)
    ]
)
while batch.processing_status != "ended":
    print(batch.request_counts.succeeded, "of 2")
    time.sleep(10)
    batch = client.messages.batches.retrieve(batch.id)
for each in client.messages.batches.results(batch.id):
    if each.result.type == "succeeded":
        print(each.custom_id, each.result.message.content)
