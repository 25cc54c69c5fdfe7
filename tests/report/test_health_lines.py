"""The words about connectors that do not work, or that stay stopped."""

from __future__ import annotations

from gitops_connect.model.names import ConnectorName
from gitops_connect.report.words import left_stopped


def test_the_line_names_the_connector_and_both_ways_out() -> None:
    assert left_stopped(ConnectorName("orders"), "http://one:8083/") == (
        "connector orders is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        " curl -X PUT http://one:8083/connectors/orders/resume"
    )


def test_the_address_is_one_for_a_shell_whatever_the_name() -> None:
    assert left_stopped(ConnectorName("a b?"), "http://one:8083").endswith("/connectors/a%20b%3F/resume")
