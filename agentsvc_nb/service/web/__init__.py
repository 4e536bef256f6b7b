"""The pages under /app: server-rendered, usable without script (docs/web.md)."""
