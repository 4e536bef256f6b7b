"""One request: what it sends, where it goes, when it is sent again, its deadline, its errors."""
