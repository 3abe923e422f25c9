"""Runs the command line: `python -m comptroller`."""

import sys

from comptroller.cli import main

sys.exit(main())
