from anthropic import Anthropic

with Anthropic().messages.stream(
    model="claude-sonnet-4-5", max_tokens=1_000, messages=[{"role": "user", "content": "When is autumn?"}]
) as stream:
    for piece in stream.text_stream:
        print(piece, end="", flush=True)
