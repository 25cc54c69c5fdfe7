import socket

from gitops_connect.sandbox.ports import choose_port, is_free


def test_a_port_that_is_served_is_not_free_and_the_next_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, socket.socket() as probe:
        port = busy.getsockname()[1]
        probe.bind(("127.0.0.1", 0))
        spare = probe.getsockname()[1]
        probe.close()
        assert not is_free(port)
        assert choose_port((port, spare), frozenset()) == spare
        assert choose_port((port, spare), {spare}) not in {port, spare}
    assert is_free(port)
