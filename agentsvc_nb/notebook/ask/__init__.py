"""Asking from a cell, and the runs that come of it.

asking      ask in the foreground or background            question    a cell's question; whether to show a run again
several     a question for each row of a DataFrame         follow      the stream of a run, read in a thread
turn        a run from its start to its one output         answer      the answer of a run, the value of its cell
background  runs while other cells go on                   review      show, compare and export runs
history     list, wait, cancel; approval of tool calls
"""
