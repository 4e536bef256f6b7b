"""What the commands of `agentsvc` do; `cli/` says how they are typed, and imports one when it is called."""
