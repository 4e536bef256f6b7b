"""Display runs, jobs and files in the notebook. Outputs are static bundles of safe HTML and text, drawn by screens."""
