"""What operations give back: models, tables, answers in a shape of one's own."""
