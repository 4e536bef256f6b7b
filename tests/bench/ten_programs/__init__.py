"""The ten programs of docs/programs.md, and the same with other clients, by the lines that they take."""
