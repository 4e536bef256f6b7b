"""JSON documents and JSON Schema: parsed, weighed and checked within bounds."""
