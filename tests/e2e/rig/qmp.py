# SPDX-License-Identifier: GPL-2.0
"""QEMU's control protocol, as much of it as tests need."""

import json
import time


class QmpError(Exception):
    """QEMU refused a command."""


class Qmp:
    """One connection; events are kept until somebody waits for them."""

    def __init__(self, sock):
        self._sock = sock
        self._buffer = b""
        self.events = []
        self._next(10)
        self.command("qmp_capabilities")

    def command(self, execute, timeout=20, **arguments):
        """Run a command; underscores in argument names stand for dashes."""
        message = {"execute": execute}
        if arguments:
            message["arguments"] = {k.replace("_", "-"): v for k, v in arguments.items()}
        self._sock.settimeout(timeout)
        self._sock.sendall(json.dumps(message).encode() + b"\n")
        end = time.monotonic() + timeout
        while True:
            reply = self._next(end - time.monotonic())
            if "return" in reply:
                return reply["return"]
            if "error" in reply:
                raise QmpError(f"{execute}: {reply['error']['desc']}")
            self.events.append(reply)

    def wait_event(self, name, timeout=30):
        """The next event of a name, removed from those kept."""
        end = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event.get("event") == name:
                    self.events.remove(event)
                    return event
            self.events.append(self._next(end - time.monotonic()))

    def close(self):
        self._sock.close()

    def _next(self, timeout):
        end = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            self._sock.settimeout(max(end - time.monotonic(), 0.01))
            data = self._sock.recv(65536)
            if not data:
                raise QmpError("QEMU has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)
