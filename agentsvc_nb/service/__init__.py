"""The agent service, which `agentsvc serve` runs (docs/architecture.md)."""
