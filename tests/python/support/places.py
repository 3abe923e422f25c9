"""The folders of the project that tests read."""

from __future__ import annotations

from pathlib import Path

#: The project.
ROOT = Path(__file__).parents[3]
#: The modules that tests and the programs that they start share.
SUPPORT = Path(__file__).parent
