-- The tools that the caller of a run executes (docs/api/client-tools.md): their names, and what the start said of them, both as
-- JSON; NULL without any.
ALTER TABLE run ADD COLUMN client_tools TEXT;
ALTER TABLE run_message ADD COLUMN client_tools TEXT;
-- Further states of a call: 'asked' (waits for the caller), 'answered' and 'expired'. `waits_in` is the attempt that waits, for the
-- caller or for approval, `asked_at` when the caller was first asked, and `expires_at` until when it may answer.
ALTER TABLE tool_call ADD COLUMN waits_in BIGINT;
ALTER TABLE tool_call ADD COLUMN asked_at BIGINT;
ALTER TABLE tool_call ADD COLUMN expires_at BIGINT;
