from openai import APIStatusError, OpenAI, RateLimitError

client = OpenAI(timeout=20, max_retries=4)
try:
    print(client.responses.create(model="gpt-5-mini", input="When is autumn?").output_text)
except RateLimitError as error:
    print("Again in", error.response.headers.get("retry-after"))
except APIStatusError as error:
    print(error.status_code, error.code, error.message)
