"""The catalog of tools, the fields of their inputs, and a call of one."""
