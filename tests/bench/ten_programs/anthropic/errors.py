from anthropic import Anthropic, APIStatusError, RateLimitError

client = Anthropic(timeout=20, max_retries=4)
try:
    message = client.messages.create(
        model="claude-sonnet-4-5", max_tokens=1_000, messages=[{"role": "user", "content": "When is autumn?"}]
    )
    print(message.content)
except RateLimitError as error:
    print("Again in", error.response.headers.get("retry-after"))
except APIStatusError as error:
    print(error.status_code, error.message)
