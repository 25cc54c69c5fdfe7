"""A user's directory with a stand-in or with a real worker."""

from standin.fixtures import standin
from support.workplaces import at, really

__all__ = ["at", "really", "standin"]
