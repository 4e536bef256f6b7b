"""Ask a question from a cell, and work with the runs that answer it.

To understand how one question is asked, read the modules in this order:

request     prepare the question: options, chat, idempotency key, or the earlier run whose answer is shown instead
follower    start a run or attach to one, follow it, draw it, and return its answer or raise
answer      the answer as the value of the cell
background  start and follow a run in a thread, and return a future
each        ask a question for each row of a DataFrame
history     list, show, undo, cancel and wait for runs; approve tool calls
"""
