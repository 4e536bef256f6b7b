from openai import OpenAI

for file in OpenAI().files.list():
    print(file.filename, file.bytes)
