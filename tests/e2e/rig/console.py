# SPDX-License-Identifier: GPL-2.0
"""A guest's serial console: everything its kernel says, kept and logged as it comes.

QEMU connects to a socket that we listen on, so there is no race at start, and a line can
be waited for instead of polled. The text outlives the guest.
"""

import re
import socket
import threading


class Console:
    """Text of all boots of one guest, in order."""

    def __init__(self, name, log_path):
        self.name, self.log_path = name, log_path
        self.text = ""
        self.changed = threading.Condition()
        self._log = open(log_path, "ab", buffering=0)

    def attach(self, sock):
        threading.Thread(target=self._read, args=(sock,), name=f"console-{self.name}", daemon=True).start()

    def wait_for(self, pattern, timeout, start=0):
        """The first match of a regular expression after an offset."""
        rx = re.compile(pattern, re.M)
        with self.changed:
            if not self.changed.wait_for(lambda: rx.search(self.text, start), timeout):
                raise TimeoutError(f"{self.name}: no {pattern!r} on the console after {timeout} s")
            return rx.search(self.text, start)

    def tail(self, lines=60):
        return "\n".join(self.text.splitlines()[-lines:])

    def _read(self, sock):
        with sock:
            while True:
                try:
                    data = sock.recv(65536)
                except OSError:
                    return
                if not data:
                    return
                self._log.write(data)
                with self.changed:
                    self.text += data.decode(errors="replace").replace("\r", "")
                    self.changed.notify_all()


def listen(path):
    """A socket for QEMU to connect to."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen(1)
    return sock
