"""Briefs of ads: what they say, and what they only tell whoever makes the ad. Pure."""
