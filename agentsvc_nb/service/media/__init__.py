"""Media: transcripts, and labels of landing pages."""
