"""Choose the model that answers. List models (`catalog`), format their prices (`prices`), store typed keys (`keys`),
try a model (`trial`), and `switch` the embedded service to a model.

The notebook and the terminal use this package. The service and its agents do not import it: they get the model's name
from `Settings`, and the model's key from their environment.
"""
