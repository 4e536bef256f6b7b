"""One request: what it sends, where it goes, its retries and deadline, its errors."""
