"""Ask from a cell, and handle the runs that follow. To follow one question, read from the top:

request     prepare the question: options, chat, idempotency key, or an earlier run to show instead
follower    start a run or attach to one, follow it, draw it, and return its answer or raise
background  do the same in a thread, and return a future          answer   the value of a cell
each        ask a question for each row of a DataFrame     history  list, show, wait, cancel; approve tool calls
"""
