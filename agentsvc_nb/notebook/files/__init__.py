"""The files of a chat: list, put, get, look at, search; pictures beside each other; what goes along with a question."""
