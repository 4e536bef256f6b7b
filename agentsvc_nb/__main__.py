"""Run the command line with `python -m agentsvc_nb`."""

import sys

from agentsvc_nb.cli import main

sys.exit(main())
