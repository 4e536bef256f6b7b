"""A real implementation of the agent service: `agentsvc serve` (docs/architecture.md, "The service")."""
