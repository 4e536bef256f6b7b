"""Questions that are answered with quoted passages: split out of the files, ranked by how much of the question they
cover (docs/decisions/0044-passages-by-coverage.md)."""
