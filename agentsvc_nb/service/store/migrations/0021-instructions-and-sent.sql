-- What the agent is told in every chat of the project.
ALTER TABLE project ADD COLUMN instructions TEXT NOT NULL DEFAULT '';

-- What was sent to language models: a row a call. `parts` has what the run had not sent before, as JSON.
CREATE TABLE sent (
    run_id   TEXT NOT NULL,
    place    BIGINT NOT NULL,
    sent_at  BIGINT NOT NULL,
    provider TEXT NOT NULL,
    hosted   BIGINT NOT NULL,
    model    TEXT NOT NULL,
    tokens   BIGINT NOT NULL,
    parts    TEXT NOT NULL,
    PRIMARY KEY (run_id, place)
);
CREATE INDEX sent_hosted ON sent (provider) WHERE hosted = 1;
