from openai import OpenAI

with OpenAI().responses.stream(model="gpt-5-mini", input="When is autumn?") as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
