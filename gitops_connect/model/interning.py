"""One string instead of equal ones: a daemon has most names and values many times."""

from __future__ import annotations

import sys
from collections.abc import Callable

shared_text: Callable[[str], str] = str if sys.version_info[:2] == (3, 12) else sys.intern
"""Python 3.12 never frees a string that was shared in this way, so that texts from outside would fill the memory."""
