"""Choose the model that answers: list models (`catalog`), their prices (`prices`), the typed keys (`keys`), try one
(`trial`), and `switch` the embedded service to it.

The notebook and the terminal use this package. The service and its agents do not import it: they get the model's name
from `Settings`, and its key from their environment.
"""
