# SPDX-License-Identifier: GPL-2.0
"""What a stretch of time cost: CPU, interrupts and context switches of both hosts, and what crossed the NTB.

A guest's CPU time is that of its QEMU's vCPU threads, which the host counts in nanoseconds: it is what the guest's
software ran, and nothing of its emulated devices, which QEMU's other threads are. A guest's own count of busy
ticks is kept beside it.
"""

import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
GUEST_TICKS = 100	# what /proc/stat counts in, whatever the kernel's HZ


def thread_ns(pid, tid):
    """CPU time of a thread."""
    return int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[0])


def process_ns(pid):
    """CPU time of a process, that of its threads that have ended included; in whole ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // TICKS


def vcpu_ns(guest):
    """CPU time of a guest's vCPUs."""
    return sum(thread_ns(guest.process.pid, cpu["thread-id"]) for cpu in guest.qmp.command("query-cpus-fast"))


def parse_stat(text):
    """Interrupts, context switches and busy seconds of a guest's /proc/stat."""
    lines = {line.split()[0]: [int(n) for n in line.split()[1:]] for line in text.splitlines() if line.strip()}
    cpu = lines["cpu"]
    return {"interrupts": lines["intr"][0], "switches": lines["ctxt"][0],
            "busy_s": (sum(cpu[:8]) - cpu[3] - cpu[4]) / GUEST_TICKS}


def host_busy():
    """Seconds that all of this host's CPUs were busy."""
    cpu = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(cpu[:8]) - cpu[3] - cpu[4]) / TICKS


class Meter:
    """with Meter(pair) as meter: ...; then meter.cost. Guests' own counts are taken outside of the others, so that the
    others do not have the cost of taking them."""

    def __init__(self, pair):
        self.pair = pair
        self.cost = None

    def __enter__(self):
        self._stat = [parse_stat(guest.read("/proc/stat")) for guest in self.pair.guests]
        self._cpu = self._cpus()
        self._busy = host_busy()
        self.pair.ntbsim.reset_counters()
        self._start = time.monotonic()
        return self

    def __exit__(self, *failed):
        if failed[0]:
            return
        seconds = time.monotonic() - self._start
        counters = self.pair.ntbsim.counters()["ports"]
        busy, cpu = host_busy() - self._busy, self._cpus()
        self.cost = {"seconds": seconds, "host_busy_s": busy, "load_average": os.getloadavg()[0],
                     "ntb": {"lender": counters["a"]["out"], "borrower": counters["b"]["out"]}}
        for name, before in self._cpu.items():
            self.cost[name] = {what: (ns - before[what]) / 1e9 for what, ns in cpu[name].items()}
        for guest, before in zip(self.pair.guests, self._stat):
            after = parse_stat(guest.read("/proc/stat"))
            self.cost[guest.name].update({what: after[what] - before[what] for what in before})
        own = sum(self.cost[name]["process_s"] for name in self._cpu)
        self.cost["others_s"] = max(0.0, busy - own)

    def _cpus(self):
        times = {g.name: {"vcpu_s": vcpu_ns(g), "process_s": process_ns(g.process.pid)} for g in self.pair.guests}
        times["ntbsim"] = {"process_s": process_ns(self.pair.ntbsim.process.pid)}
        return times


# What crosses, by kind: what of the simulator's counts of one direction it is.
MESSAGES = {
    "memory writes": lambda out: sum(w["ram_writes"] for w in out["windows"].values()),
    "memory reads": lambda out: sum(w["ram_reads"] for w in out["windows"].values()),
    "device register writes": lambda out: sum(w["message_writes"] for w in out["windows"].values()),
    "device register reads": lambda out: sum(w["message_reads"] for w in out["windows"].values()),
    "interrupt messages": lambda out: sum(w["msi_writes"] for w in out["windows"].values()),
    "doorbells": lambda out: out["doorbells"],
    "scratchpad words": lambda out: out["spad_peer_writes"],
}


def messages(cost):
    """What crossed, by direction and kind."""
    return {way: {kind: count(cost["ntb"][way]) for kind, count in MESSAGES.items()} for way in ("lender", "borrower")}


def per_io(cost, idle, ios):
    """What a host's software did for each I/O, beyond what it does in the same time when nothing flows, and beyond what
    the counting itself costs it. idle: of load.idle()."""
    fixed, quiet = idle["fixed"], idle["quiet"]

    def net(name, what):
        rate = (quiet[name][what] - fixed[name][what]) / quiet["seconds"]
        return (cost[name][what] - fixed[name][what] - rate * cost["seconds"]) / ios
    return {name: {what: net(name, what) for what in ("vcpu_s", "busy_s", "interrupts", "switches")}
            for name in ("lender", "borrower")}
