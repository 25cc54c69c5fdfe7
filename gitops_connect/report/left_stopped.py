"""What is said of connectors that stay stopped because the process was ended at once."""

from __future__ import annotations

from urllib.parse import quote

from gitops_connect.model.names import ConnectorName


def left_stopped(connector: ConnectorName, worker_url: str) -> str:
    """What has happened to the connector, and the two ways out. `worker_url` is the address of any of its workers."""
    resume = f"{worker_url.rstrip('/')}/connectors/{quote(connector, safe='')}/resume"
    return (
        f"connector {connector} is left stopped, as this process ended before it could resume it:"
        " `gitops-connect apply` finishes its steps; to run it with the offsets that it has now instead:"
        f" curl -X PUT {resume}"
    )
