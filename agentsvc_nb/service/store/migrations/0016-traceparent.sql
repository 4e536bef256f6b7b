-- The span in which the run was started, as W3C Trace Context writes it; NULL where nothing was traced.
ALTER TABLE run ADD COLUMN traceparent TEXT;
