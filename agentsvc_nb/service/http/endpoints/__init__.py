"""The handlers of the API: the function `runs_start` handles the route `runs.start` (`wire.routes`)."""
