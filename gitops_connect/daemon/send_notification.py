"""Sends one notification with apprise, as a process of its own: `python -m gitops_connect.daemon.send_notification`.

apprise reads an answer of any size, and its timeouts limit each silence only. The limits of a process hold for all of
its services. Its input is JSON: the URLs, the title, the body, the type, and the limit in seconds.
"""

from __future__ import annotations

import json
import resource
import signal
import sys

_MEMORY = 512 * 1024**2


def main() -> int:
    """Exit status 0 if each service has accepted the notification."""
    content = json.load(sys.stdin)
    signal.alarm(content["seconds"])  # its signal ends the process
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    import apprise  # noqa: PLC0415 - within the limits

    apprise.NotifyBase.overflow_mode = apprise.OverflowMode.SPLIT  # some services reject a text that is too long
    services = apprise.Apprise()
    services.add(content["urls"])
    kind = apprise.NotifyType(content["type"])
    return 0 if services.notify(title=content["title"], body=content["body"], notify_type=kind) else 1


if __name__ == "__main__":
    sys.exit(main())
