"""The programs of docs/programs.md with anthropic. They need an account, and are not run."""
