-- What the calls of an account were billed for on a calendar day, in the zone of the service. For its budget a day.
CREATE TABLE usage_day (
    account    TEXT NOT NULL,
    day        TEXT NOT NULL,
    microcents BIGINT NOT NULL,
    PRIMARY KEY (account, day)
);
