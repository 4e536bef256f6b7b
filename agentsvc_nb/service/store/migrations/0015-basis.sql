-- What an answer rests on, as the payload of the event `answer.basis`.
ALTER TABLE run ADD COLUMN basis TEXT;
