CREATE INDEX run_of_account ON run (account, rowid);
CREATE INDEX job_of_account ON job (account, rowid);
