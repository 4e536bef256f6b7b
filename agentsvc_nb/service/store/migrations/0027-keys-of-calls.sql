-- With which key a direct call is made: what it holds counts in the budget of a connector (docs/api/accounts.md "Budgets").
ALTER TABLE direct_call ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
