"""The type of the fixture that opens repositories, for annotations, and the content of what it opens."""

from __future__ import annotations

from collections.abc import Callable

from gitops_connect.source.checkout import Checkout
from gitops_connect.source.repository import Repository

Open = Callable[..., Repository]


def contents(checkout: Checkout) -> dict[str, bytes]:
    """All files by their paths."""
    return {blob.path: blob.content for blob in checkout.blobs(checkout.entries)}
