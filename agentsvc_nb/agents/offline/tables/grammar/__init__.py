"""From the words of a question to a reading: their meanings, the rules over them, and the forms of questions."""
