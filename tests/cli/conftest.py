"""A user's directory with a stand-in, for the tests of the command line."""

from standin.fixtures import standin
from support.workplaces import at

__all__ = ["at", "standin"]
