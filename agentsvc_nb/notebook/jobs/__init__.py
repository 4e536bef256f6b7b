"""Tool jobs: one in its cell, others in the background, several seen together."""
