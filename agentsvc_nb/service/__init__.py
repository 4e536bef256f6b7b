"""The agent service: `agentsvc serve` (docs/architecture.md, "The service")."""
