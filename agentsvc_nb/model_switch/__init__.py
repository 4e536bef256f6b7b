"""The models that could answer on this machine, and the embedded service's switch to one of them: for notebook and
terminal."""
