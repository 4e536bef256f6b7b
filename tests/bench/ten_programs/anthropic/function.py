from anthropic import Anthropic, beta_tool


@beta_tool
def look_up(item: str) -> str:
    """How many of an item are in stock."""
    return str({"lamp": 7}.get(item, 0))


runner = Anthropic().beta.messages.tool_runner(
    model="claude-sonnet-4-5",
    max_tokens=1_000,
    tools=[look_up],
    messages=[{"role": "user", "content": "How many lamps are in stock?"}],
)
print(runner.until_done().content)
