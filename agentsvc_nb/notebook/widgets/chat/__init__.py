"""A conversation as a widget: turns below each other, a place to write, and in the end one static output.

chat    the value of a cell: shown, closed         talk     ask, follow, stop, show earlier turns
state   its turns, and what is left of them. Pure  view     its widgets; live, settled: those of a turn
page    where an answer streams to in widgets      attach, approve    what goes along, what waits
calls   what it asks of the service beside its turns
"""
