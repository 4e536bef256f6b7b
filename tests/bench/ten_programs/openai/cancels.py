from openai import OpenAI

client, response_id = OpenAI(), ""
with client.responses.create(model="gpt-5-mini", input="Count.", background=True, stream=True) as stream:
    try:
        for event in stream:
            if event.type == "response.created":
                response_id = event.response.id
            if event.type == "response.output_text.delta":
                print(event.delta, flush=True)
    except KeyboardInterrupt:
        print(client.responses.cancel(response_id).status)
