from anthropic import Anthropic

for file in Anthropic().beta.files.list():
    print(file.filename, file.size_bytes)
