"""The handlers of the endpoints: `runs_start` answers the route `runs.start` (`wire.routes`)."""
