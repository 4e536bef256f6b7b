"""Asking from a cell, and the runs that come of it. One question is read from the top:

request     its options, its chat and key, or the earlier run that is shown instead
follower    start or attach, follow, draw, end with an answer or an exception
background  the same in a thread, as a future          answer   the value of a cell
each        a question for each row of a DataFrame     history  list, show, wait, cancel; approval of tool calls
"""
