# SPDX-License-Identifier: GPL-2.0
"""Where the time goes from the operator's word to a block device: a borrow, and a hot-plug of the local drive.

The kernel's own trace of one guest says when: devlend's tracepoints, and probes at the driver's probe function and at
the end of device_add_disk(). Turning the trace into phases is pure.
"""

import re

import lending

TRACING = "/sys/kernel/tracing"
START = "bench: start"
LINE = re.compile(r"^\s*\S.*?\s(\d+\.\d+): (.*)$", re.M)
# of enum devlend_op
OPS = {0x102: "BORROW", 0x103: "CONFIG", 0x104: "ATTACH", 0x105: "PROBE"}

# Ends of a borrow's phases, in order: a name and what ends it, as events() calls that.
BORROW = (
    ("look at this host", "sent BORROW"),
    ("BORROW: the lender grants", "done BORROW"),
    ("open windows onto memory", "sent ATTACH"),
    ("ATTACH: the lender maps them", "done ATTACH"),
    ("PROBE: windows are proven", "done PROBE"),
    ("windows, interrupt domain", "sent CONFIG"),
    ("CONFIG: config space comes", "done CONFIG"),
    ("scan, add the device", "driver"),
    ("driver: controller, block device", "disk"),
)
HOTPLUG = (
    ("scan, add the device", "driver"),
    ("driver: controller, block device", "disk"),
)


def events(trace):
    """(seconds, name) of what matters in a trace's text."""
    found = []
    for when, what in LINE.findall(trace):
        message = re.match(r"devlend_(request|call_done): link\d+ (?:sent )?op 0x([0-9a-f]+)", what)
        if message:
            kind, op = message.groups()
            name = OPS.get(int(op, 16))
            if name:
                found.append((float(when), f"{'sent' if kind == 'request' else 'done'} {name}"))
        elif START in what:
            found.append((float(when), "start"))
        elif re.match(r"(driver|disk): \(", what):
            found.append((float(when), what.split(":")[0]))
    return found


def split(found, phases):
    """Seconds of each phase. A thing that happens several times ends its phase the last time."""
    last = next(when for when, name in found if name == "start")
    made = {}
    for phase, end in phases:
        times = [when for when, name in found if name == end]
        if not times:
            raise ValueError(f"nothing in the trace ends {phase!r}: {found}")
        # devices of the guest's own are no part of it: the first, where it is the driver's doing
        when = times[0] if end in ("driver", "disk") else times[-1]
        made[phase] = when - last
        last = when
    return made


def _begin(guest, own):
    more = "echo 1 >events/devlend/enable; " if own else ""
    guest.run(f"cd {TRACING} && echo >trace && echo >kprobe_events && "
              f"echo 'p:bench/driver nvme:nvme_probe' >>kprobe_events && "
              f"echo 'r:bench/disk device_add_disk' >>kprobe_events && {more} echo 1 >events/bench/enable")


def _end(guest):
    # taking the probes away empties the trace
    trace = guest.text(f"cd {TRACING} && echo 0 >events/enable && cat trace && echo >kprobe_events")
    return events(trace)


def _act(guest, value, path):
    guest.run(f"echo '{START}' >{TRACING}/trace_marker && echo '{value}' >'{path}'", timeout=180)


def _opened(guest, bdf):
    """Wait until the drive's block device can be opened: only then device_add_disk() has ended."""
    disk = lending.nvme_block(guest, bdf)
    guest.run(f"dd if=/dev/{disk} of=/dev/null bs=4k count=1 iflag=direct status=none", timeout=120)


def hotplug(guest, bdf):
    """Take the local drive off the bus and find it again: what a hot-plug is without the slot's own waits."""
    lending.must_write(guest, f"/sys/bus/pci/devices/{bdf}/remove", "1")
    _begin(guest, False)
    _act(guest, "1", "/sys/bus/pci/rescan")
    _opened(guest, bdf)
    return split(_end(guest), HOTPLUG)


def borrow(guest, offer):
    """Borrow, and the phases of it: (lease, phases)."""
    _begin(guest, True)
    _act(guest, "auto", f"{lending.BUS}/{offer}/borrow")
    lease = lending.names(guest, "lease")[-1]
    _opened(guest, lending.shadow_of(guest, lease))
    return lease, split(_end(guest), BORROW)
