"""Media: ad media with their transcripts, and landing pages with their labels."""
