-- What is held for per-use charges is named by what it is.
ALTER TABLE run RENAME COLUMN use_hold_microcents TO charge_hold_microcents;
ALTER TABLE job RENAME COLUMN use_hold_microcents TO charge_hold_microcents;
