"""The client: one async core, two small I/O backends, two faces (`surface`)."""
