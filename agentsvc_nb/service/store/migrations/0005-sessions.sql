-- Signed-in browsers: the SHA-256 of the cookie's 256 random bits, never the cookie.
CREATE TABLE session (
    digest     TEXT PRIMARY KEY,
    account    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);

-- The pages show a chat's turns and jobs, and the chats that were last used.
CREATE INDEX run_of_chat ON run (chat, created_at);
CREATE INDEX job_of_chat ON job (chat, created_at);
