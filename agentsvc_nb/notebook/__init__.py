"""The notebook: magics, what they show, and what they remember. Presentation only; the client does the work.

magics/     declare arguments, call a command          commands    plain functions, without IPython
asking      one question, start to output              working     one job, start to output
question    what a cell asks                           attaching, last_error, shape    what goes along, comes back
pending     a future of a cell; background: a run      busy, variants    whose turn it is; several at once
watching    a run to its one output                    notifying   that it is done
connecting  which service, chat, project               keys        where a service's key comes from
approving   what waits for a yes or no; approval: as it is shown
history     runs: list, wait, cancel                   looking     a run again, two beside each other, a file of all
storing     files: list, put, get                      previewing  a file's beginning; searching: passages
browsing    files and pictures to look through         folders     files as folders; here: the session for functions
gallery     pictures, before and after                 inscriptions    what a picture says about itself
previews/   a file of any kind as one safe, static output: a module a kind
catalog     the tools; calling: a call of one          overseeing  jobs: list, watch several; joblog: remember them
widgets/    what can be clicked                        tending     jobs in the background; bars: how
reporting   feedback                                   known       names for Tab; nested: loops within loops, on request
grid        tables of our own                          table       what a magic gives back that is no answer
reuse       ask, or show a known run again             session     connection, chat, journal, trail
feed        a stream in a thread                       follow      drain, draw, tick, take the interrupt
transcript  events to the state of a view              stream      live, static and terminal screens
render      that state to a safe bundle                markdown, blocks, tables, pictures, frames, timeline
"""
