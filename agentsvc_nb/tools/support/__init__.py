"""Code that several tools share, or that is too long for one tool: requests, mail, pages, copy and cancellation."""
