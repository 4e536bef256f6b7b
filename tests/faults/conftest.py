"""The profile for a long search, by `--hypothesis-profile long`."""

from hypothesis import settings

settings.register_profile("long")
