# SPDX-License-Identifier: GPL-2.0
"""A peer without a guest: a port of ntbsim's that a test drives itself, word by word."""

import json
import socket

from .ntbsim import NtbsimError

LINK_BELL = 32		# the bit by which wait_bell() tells of a change of the link


class Puppet:
    """Each method is one operation. run() takes any number of them in one message, as tuples of a name and
    arguments: tools/ntbsim/README.md lists them. Windows are 0 and 1; times are in seconds here, in milliseconds
    there; memory is bytes here, hexadecimal digits there."""

    def __init__(self, ntbsim, port):
        self.ntbsim, self.port = ntbsim, port
        self._socket = self._file = None

    def connect(self):
        # Its own connection: a batch that waits must not hold up other requests.
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self.ntbsim.config["control"])
        self._file = self._socket.makefile("rwb")
        return self

    def close(self):
        if self._socket:
            self._file.close()
            self._socket.close()
            self._socket = None

    def run(self, *ops, timeout=120):
        """Carry out operations, in order; the list of their results. Raises at the first one that is wrong."""
        self._socket.settimeout(timeout)
        try:
            self._file.write(json.dumps({"cmd": "puppet", "port": self.port, "ops": ops}).encode() + b"\n")
            self._file.flush()
            line = self._file.readline()
        except OSError as e:
            raise NtbsimError(f"puppet {self.port}: {e}\n{self.ntbsim.log_tail()}") from None
        if not line:
            raise NtbsimError(f"ntbsim has ended:\n{self.ntbsim.log_tail()}")
        reply = json.loads(line)
        if not reply["ok"]:
            raise NtbsimError(f"puppet {self.port}: {reply['error']}")
        return reply["results"]

    def _one(self, *op, timeout=60):
        return self.run(op, timeout=timeout + 60)[0]

    # Scratchpads

    def own(self, word=None):
        """A word that the peer wrote, or all of them."""
        return self._one("own_read") if word is None else self._one("own_read", word)

    def set_own(self, first, *values):
        self._one("own_write", first, *values)

    def peer(self, word=None):
        """A word of the peer's, or all of them."""
        return self._one("peer_read") if word is None else self._one("peer_read", word)

    def write(self, first, *values):
        """Write consecutive words of the peer's."""
        self._one("peer_write", first, *values)

    def wait_own(self, word, value, mask=0xffffffff, timeout=60):
        """Wait until an own word is value under mask; the word, or None."""
        return self._one("wait_own", word, mask, value, int(timeout * 1000), timeout=timeout)

    def count(self, word, period):
        """Let a word of the peer's count by itself, as a beat does; 0 stops it."""
        self._one("count", word, int(period * 1000))

    # Doorbells and the link

    def ring(self, bit=0):
        self._one("ring", bit)

    def wait_bell(self, mask=1, timeout=60):
        """Wait for any of the bells in mask; those that rang, 0 for none. They are cleared."""
        return self._one("wait_bell", mask, int(timeout * 1000), timeout=timeout)

    def link(self, up):
        """What the driver of a guest does to permit the link, or not."""
        self._one("link", up)

    def reset(self):
        """As a reboot: link down, registers as at power-on. RAM stays."""
        self._one("reset")

    # Memory

    def mem_read(self, window, offset, size):
        """Read the peer through a window; all-ones where nothing answers."""
        return bytes.fromhex(self._one("mem_read", window, offset, size))

    def mem_write(self, window, offset, data):
        """Posted: sync() waits until it has landed."""
        self._one("mem_write", window, offset, bytes(data).hex())

    def sync(self, timeout=60):
        """Wait until all that was sent has happened; whether it has."""
        return self._one("sync", int(timeout * 1000), timeout=timeout)

    def ram(self, address, size):
        """Have memory at an address of one's own."""
        self._one("ram", address, size)

    def ram_read(self, address, size):
        return bytes.fromhex(self._one("ram_read", address, size))

    def ram_write(self, address, data):
        self._one("ram_write", address, bytes(data).hex())

    def open(self, window, base, size):
        """Let the peer's window reach one's own addresses from base on; size 0 closes it."""
        self._one("window", window, base, size)
