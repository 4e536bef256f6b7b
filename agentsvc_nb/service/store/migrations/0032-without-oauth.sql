-- Changes what earlier versions read or write.
-- Tokens of connectors that signed in by OAuth are revoked: without these columns they would be keys that never end.
-- Their rows stay, because bills name them.
UPDATE api_key SET revoked_at = created_at WHERE client_id IS NOT NULL AND revoked_at IS NULL;
ALTER TABLE api_key DROP COLUMN client_id;
ALTER TABLE api_key DROP COLUMN expires_at;
ALTER TABLE api_key DROP COLUMN resource;
ALTER TABLE direct_call DROP COLUMN key_id;
DROP TABLE oauth_code;
