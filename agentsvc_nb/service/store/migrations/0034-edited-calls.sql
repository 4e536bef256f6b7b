-- The input that the agent gave, where a person changed it before approving the call: `input` is what was approved.
ALTER TABLE tool_call ADD COLUMN asked_input TEXT;
