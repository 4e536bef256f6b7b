"""The programs of docs/programs.md with openai. They need an account, and are not run."""
