# SPDX-License-Identifier: GPL-2.0
"""The NTB simulator, tools/ntbsim: started, asked and ended from here."""

import json
import os
import re
import select
import socket
import subprocess

from . import paths
from .process import Child

# The defaults of a pair: the peer's device registers, and the peer's memory up to 4 GiB,
# which holds 0xfee00000, where its interrupts are.
WINDOWS = ({"bar": 2, "size": "64M", "fast": False}, {"bar": 4, "size": "4G", "fast": False})


class NtbsimError(Exception):
    """The simulator refused a request, or has ended."""


class Ntbsim:
    """One process with two ports, "a" (upstream side) and "b", and the link between. puppet: the port without a
    guest. second: a second link, of port "c" (upstream side) and "d", which is a puppet where second is "puppet"."""

    def __init__(self, run_dir, windows=WINDOWS, config=None, puppet=None, second=None):
        self.run_dir = run_dir
        self.sockets = paths.socket_dir()
        self.config = config or {
            "ports": [{"name": "a", "role": "usd", "windows": list(windows)},
                      {"name": "b", "role": "dsd", "windows": list(windows)}],
            "links": [["a", "b"]],
        }
        if second:
            self.config["ports"] += [{"name": "c", "role": "usd", "windows": list(windows)},
                                     {"name": "d", "role": "dsd", "windows": list(windows)}]
            self.config["links"].append(["c", "d"])
        self.config["control"] = str(self.sockets / "ctl.sock")
        for port in self.config["ports"]:
            if port["name"] == puppet or second == "puppet" and port["name"] == "d":
                port["puppet"] = True
            else:
                port["socket"] = str(self.sockets / f"{port['name']}.sock")
        self.log_path = run_dir / "ntbsim.log"
        self.process = self._control = None

    def port_socket(self, name):
        return next(p["socket"] for p in self.config["ports"] if p["name"] == name)

    def start(self, timeout=20):
        path = self.run_dir / "ntbsim.json"
        path.write_text(json.dumps(self.config, indent=1) + "\n")
        self.process = Child([str(paths.ntbsim_binary()), "--config", str(path)], self.log_path,
                             stdout=subprocess.PIPE)
        self._wait_line("ntbsim: ready", timeout)
        self._control = socket.socket(socket.AF_UNIX)
        self._control.settimeout(20)
        self._control.connect(self.config["control"])
        self._file = self._control.makefile("rwb")
        return self

    def request(self, cmd, **arguments):
        try:
            self._file.write(json.dumps(dict(cmd=cmd, **arguments)).encode() + b"\n")
            self._file.flush()
            line = self._file.readline()
        except OSError as e:
            raise NtbsimError(f"ntbsim: {e}\n{self.log_tail()}") from None
        if not line:
            raise NtbsimError(f"ntbsim has ended:\n{self.log_tail()}")
        reply = json.loads(line)
        if not reply.pop("ok"):
            raise NtbsimError(f"ntbsim: {cmd}: {reply.get('error')}")
        return reply

    def counters(self):
        return self.request("counters")

    def reset_counters(self):
        return self.request("reset")

    def status(self):
        return self.request("status")

    def link(self, up, link=0):
        return self.request("link", link=link, up=up)

    def faults(self, **plan):
        """What is to go wrong from now on; without arguments, nothing. README.md of ntbsim has the keys."""
        return self.request("faults", **plan)

    def freeze(self, port, on):
        """Hold all that a port's guest sends, or let it go."""
        return self.request("freeze", port=port, on=on)

    def flap(self, count, every=0.02, down=0.01, seed=0, wait=True, timeout=300):
        """Take the link down and up again count times; times in seconds, as README.md of ntbsim says."""
        self._control.settimeout(timeout)
        try:
            return self.request("flap", count=count, every_us=int(every * 1e6), down_us=int(down * 1e6), seed=seed,
                                wait=wait)
        finally:
            self._control.settimeout(20)

    def injected(self):
        """How many faults of each kind there were, over all ports."""
        ports = self.counters()["ports"].values()
        return {kind: sum(p["out"]["faults"][kind] for p in ports) for kind in next(iter(ports))["out"]["faults"]}

    @property
    def running(self):
        return bool(self.process and self.process.running)

    def log_tail(self, lines=40):
        return "\n".join(self.process.log_text().splitlines()[-lines:])

    def stop(self):
        if self._control:
            self._control.close()
        if self.process:
            self.process.stop()
            self.process.proc.stdout.close()
        for path in self.sockets.iterdir() if self.sockets.exists() else ():
            path.unlink()
        if self.sockets.exists():
            os.rmdir(self.sockets)

    def _wait_line(self, wanted, timeout):
        out = self.process.proc.stdout
        seen = b""
        while wanted.encode() not in seen:
            ready, _, _ = select.select([out], [], [], timeout)
            data = os.read(out.fileno(), 4096) if ready else b""
            if not data:
                raise NtbsimError(f"ntbsim did not become ready:\n{self.log_tail()}")
            seen += data


def forbidden(counters):
    """Counts that fail any test: accesses that landed below 1 MiB, where nothing of ours
    is, and crossed reads, which had to be answered with a lie."""
    return [f"{where} = {n}" for where, n in walk(counters)
            if n and re.search(r"(below_1m_(reads|writes)|crossed)$", where)]


def walk(value, where=""):
    """Every number in a reply, with its path."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from walk(part, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for n, part in enumerate(value):
            yield from walk(part, f"{where}[{n}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield where, value
