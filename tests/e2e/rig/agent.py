# SPDX-License-Identifier: GPL-2.0
"""Shell commands inside a guest: the host's end of tests/rig/guest/agent.c.

One thread reads the port and hands frames to the jobs they belong to; any thread may
start jobs and wait for them. When the guest goes away every waiter learns it at once.
"""

import itertools
import os
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass

HELLO, RUN, STDIN, KILL, OUT, ERR, EXIT = range(7)
HEADER = struct.Struct("<III")
CHUNK = 256 * 1024


class GuestGone(Exception):
    """The guest ended, crashed or was reset while something waited for it."""


class CommandFailed(Exception):
    """A command ended with another status than 0."""


@dataclass
class Result:
    """What a command left. rc is its exit status, or minus the signal that ended it."""

    rc: int
    out: str
    err: str = ""

    def __iter__(self):
        """rc, out = guest.run(...)"""
        return iter((self.rc, self.out))

    def __str__(self):
        return f"status {self.rc}\n{self.out}{self.err}"


class Job:
    """A command that runs in the guest."""

    def __init__(self, agent, ident, cmd):
        self.agent, self.id, self.cmd = agent, ident, cmd
        self.out, self.err = bytearray(), bytearray()
        self.status = None
        self.gone = None

    @property
    def done(self):
        return self.status is not None

    def text(self):
        """Its standard output so far."""
        with self.agent.changed:
            return self.out.decode(errors="replace")

    def send(self, data):
        """To its standard input; b"" closes it."""
        for at in range(0, len(data), CHUNK):
            self.agent.send(self.id, STDIN, data[at:at + CHUNK])
        if not data:
            self.agent.send(self.id, STDIN, b"")

    def kill(self, sig=signal.SIGKILL):
        """The whole session of the command."""
        self.agent.send(self.id, KILL, bytes([sig]))

    def wait_raw(self, timeout):
        """Wait for its end: the status, stdout and stderr as bytes."""
        def over():
            return self.done or self.gone
        timeout *= self.agent.patience
        with self.agent.changed:
            ended = self.agent.changed.wait_for(over, timeout)
            out, err = bytes(self.out), bytes(self.err)
        if not ended:
            self.kill()
            raise TimeoutError(f"{self.agent.name}: no end after {timeout:g} s: {self.cmd}\n"
                               f"{(out + err).decode(errors='replace')[-2000:]}")
        if not self.done:
            raise GuestGone(f"{self.agent.name}: {self.gone} during: {self.cmd}")
        return os.waitstatus_to_exitcode(self.status), out, err

    def wait(self, timeout=60):
        rc, out, err = self.wait_raw(timeout)
        return Result(rc, out.decode(errors="replace"), err.decode(errors="replace"))

    def wait_output(self, text, timeout=60):
        """Until its standard output contains text."""
        def seen():
            return text.encode() in self.out or self.done or self.gone
        with self.agent.changed:
            self.agent.changed.wait_for(seen, timeout * self.agent.patience)
            if text.encode() not in self.out:
                raise TimeoutError(f"{self.agent.name}: no {text!r} in the output of: {self.cmd}")


class Agent:
    """The connection to one guest's agent, from QEMU's start to its end. Time-outs of its jobs are those of a machine
    with nothing else to do; patience is how many times as long is waited."""

    def __init__(self, name, sock, patience=1):
        self.name, self.patience = name, patience
        self.changed = threading.Condition()
        self._sock = sock
        self._sending = threading.Lock()
        self._ids = itertools.count(1)
        self._jobs = {}
        self._hellos = 0
        self._closed = None
        threading.Thread(target=self._read, name=f"agent-{name}", daemon=True).start()

    @property
    def hellos(self):
        """How often an agent has started: once a boot."""
        return self._hellos

    def wait_hello(self, count, timeout):
        with self.changed:
            self.changed.wait_for(lambda: self._hellos >= count or self._closed, timeout)
            if self._hellos >= count:
                return
        raise GuestGone(f"{self.name}: {self._closed or f'no agent after {timeout} s'}")

    def start(self, cmd):
        with self.changed:
            if self._closed:
                raise GuestGone(f"{self.name}: {self._closed}, cannot run: {cmd}")
            job = Job(self, next(self._ids), cmd)
            self._jobs[job.id] = job
        self.send(job.id, RUN, cmd.encode())
        return job

    def send(self, ident, kind, data):
        try:
            with self._sending:
                self._sock.sendall(HEADER.pack(len(data), ident, kind) + data)
        except OSError as e:
            raise GuestGone(f"{self.name}: {e}") from None

    def close(self):
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _read(self):
        try:
            while True:
                length, ident, kind = HEADER.unpack(self._exactly(HEADER.size))
                self._frame(ident, kind, self._exactly(length))
        except (OSError, EOFError):
            with self.changed:
                self._closed = "the guest has ended"
                self._forget(self._closed)

    def _exactly(self, length):
        data = bytearray()
        while len(data) < length:
            part = self._sock.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _frame(self, ident, kind, data):
        with self.changed:
            job = self._jobs.get(ident)
            if kind == HELLO:
                self._hellos += 1
                if self._hellos > 1:
                    self._forget("the guest has started anew")
            elif job and kind == OUT:
                job.out += data
            elif job and kind == ERR:
                job.err += data
            elif job and kind == EXIT:
                job.status = struct.unpack("<I", data)[0]
                del self._jobs[ident]
            self.changed.notify_all()

    def _forget(self, why):
        for job in self._jobs.values():
            job.gone = why
        self._jobs.clear()
        self.changed.notify_all()


def until(condition, timeout, what, interval=0.05):
    """Poll where there is nothing to wait for; the value that was true."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not after {timeout} s: {what}")
        time.sleep(interval)
