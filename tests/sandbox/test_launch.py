import os
import socket
from pathlib import Path

from gitops_connect.sandbox import processes
from gitops_connect.sandbox.java import Java
from gitops_connect.sandbox.launch import Launch, Tools, choose_port, excerpt, is_free
from gitops_connect.sandbox.sandbox_state import SandboxPart, State, new_id


def test_what_ended_a_broker_is_shown_though_it_goes_on_talking(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    talk = [f"[2026-11-21 10:12:48,{number}] INFO Stopped {number} (kafka.Server)" for number in range(40)]
    cause = ["[2026-11-21 10:12:47,1] ERROR Fatal error (kafka.Server)", "Caused by: java.net.BindException: in use"]
    log.write_text("\n".join([*talk, *cause, *talk]))
    shown = excerpt(log).splitlines()
    assert shown[:3] == [*cause, "…"]
    assert shown[3:] == talk[-10:]
    log.write_text("Error occurred\n[x] ERROR it (y)\n")
    assert excerpt(log) == "Error occurred\n[x] ERROR it (y)"
    assert excerpt(tmp_path / "none.log") == "(the log is empty)"


def test_a_process_that_is_recorded_and_has_no_marker_yet_is_ended(tmp_path: Path) -> None:
    launch = Launch(tmp_path, State(new_id(), "4.3.1", 512), Tools(Java(Path("java"), 17), {}, os.environ), print)
    started = processes.start(("/bin/sleep", "60"), tmp_path / "logs" / "worker-1.log", os.environ)
    launch.state = launch.state.with_part(SandboxPart(1, 1, process=started))
    launch.take_back()
    assert not processes.is_running(started)
    assert not any(part.process for part in launch.state.parts)


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
