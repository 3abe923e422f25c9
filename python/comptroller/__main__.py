"""`python -m comptroller` is the command line."""

import sys

from comptroller.cli import main

sys.exit(main())
