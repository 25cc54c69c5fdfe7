"""The message about connectors that remain stopped because the process was ended at once."""

from __future__ import annotations

from urllib.parse import quote

from gitops_connect.model.names import ConnectorName


def left_stopped(connector: ConnectorName, worker_url: str) -> str:
    """What happened to the connector, and two ways to fix it. `worker_url` is the address of any of its workers."""
    resume = f"{worker_url.rstrip('/')}/connectors/{quote(connector, safe='', errors='replace')}/resume"
    return (
        f"connector {connector} is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        f" curl -X PUT {resume}"
    )
