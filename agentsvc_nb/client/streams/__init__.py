"""Results that arrive over time: event streams that survive dropped connections, paged lists, waiting for an end."""
