"""What the tools of the catalog take and give, a module a tool or two (spec.md "Job and tool submission rules")."""
