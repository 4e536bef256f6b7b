"""What comes bit by bit: events (server-sent, across dropped connections), lists in pages, ends that are waited for."""
