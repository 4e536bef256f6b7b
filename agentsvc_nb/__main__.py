"""`python -m agentsvc_nb`: the command line."""

import sys

from agentsvc_nb.cli import main

sys.exit(main())
