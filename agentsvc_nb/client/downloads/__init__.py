"""Files of a chat on their way to disk or memory: checked, continued where they broke off."""
