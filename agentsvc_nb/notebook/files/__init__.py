"""The files of a chat: list, take out, look at, search; pictures beside each other."""
