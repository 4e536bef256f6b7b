import sys

from openai import OpenAI

with OpenAI().responses.retrieve(sys.argv[1], stream=True, starting_after=int(sys.argv[2])) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
