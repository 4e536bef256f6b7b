"""What comes bit by bit: a run's events across dropped connections, lists in pages, ends that are waited for."""
