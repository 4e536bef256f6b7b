-- Keys that connectors got by OAuth (docs/mcp.md): whose each is, until when it is valid (ms), and for which address alone.
ALTER TABLE api_key ADD COLUMN client_id TEXT;
ALTER TABLE api_key ADD COLUMN expires_at BIGINT;
ALTER TABLE api_key ADD COLUMN resource TEXT;

-- Authorization codes: the SHA-256 of 256 random bits. `used_at` is when somebody first came with it, and `key_id` what it gave;
-- what that key may do stands in the columns from `scopes` on.
CREATE TABLE oauth_code (
    digest           TEXT PRIMARY KEY,
    account          TEXT NOT NULL,
    client_id        TEXT NOT NULL,
    redirect_uri     TEXT NOT NULL,
    challenge        TEXT NOT NULL,
    resource         TEXT NOT NULL,
    scopes           TEXT NOT NULL,
    budget_cents     BIGINT,
    token_expires_at BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    used_at          BIGINT,
    key_id           TEXT
);
