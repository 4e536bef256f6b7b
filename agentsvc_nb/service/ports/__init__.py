"""What the service asks of the outside: Protocols, so that engines, agents, tools and clocks can be exchanged."""
