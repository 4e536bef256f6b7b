"""Choose the model with which the embedded service answers. The embedded service is the one that a notebook or command
starts on this machine, for one data folder.

`catalog` lists models, `prices` formats their prices, `keys` stores the keys that users typed, `trial` tests a model,
and `switch` switches the embedded service to a model.

The notebook and the command line use this package. The service and its agents do not import it: they get the model's
name from `Settings`, and the model's key from their environment.
"""
