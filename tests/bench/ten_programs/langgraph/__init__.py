"""The programs of docs/programs.md with langgraph-sdk. They need an account, and are not run."""
