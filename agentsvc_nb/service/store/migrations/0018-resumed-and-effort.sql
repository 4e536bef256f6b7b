-- The failed run that this one goes on from; and how much thought its start asked for.
ALTER TABLE run ADD COLUMN resumed_from TEXT;
ALTER TABLE run ADD COLUMN effort TEXT;
