# SPDX-License-Identifier: GPL-2.0
"""What a host that survived its peer is asked afterwards: was anything stuck, how long did it
take, and did anybody write into memory that was given back."""

import re

import lending

PATTERN = 0o245		# fills memory; no zero, no text, no all-ones
DOWN = r"link\d+: down: "	# how the kernel log says that a link is lost
HUNG_S = 30		# a task that waits longer without being killable is a complaint

# one line a look: uptime, pid and name of each task in uninterruptible sleep
_WATCH = r"""while [ -e /tmp/watch ]; do
    read up _ < /proc/uptime
    ps -eo stat=,pid=,comm= | while read s p c; do case $s in D*) echo "$up $p $c";; esac; done
    sleep 0.5
done"""


class StuckTasks:
    """Watches a guest for tasks in uninterruptible sleep, from start() to longest()."""

    def __init__(self, guest):
        self.guest, self.job = guest, None

    def start(self):
        self.guest.run(f"echo {HUNG_S} > /proc/sys/kernel/hung_task_timeout_secs; touch /tmp/watch")
        self.job = self.guest.spawn(_WATCH)
        self.job.send(b"")
        return self

    def longest(self):
        """(seconds, name) of the longest such sleep that was seen; (0, None) if none."""
        self.guest.run("rm -f /tmp/watch")
        seen, longest = {}, (0.0, None)
        for line in self.job.wait(60).out.splitlines():
            up, pid, name = line.split(None, 2)
            first, last = seen.get(pid, (float(up), float(up)))
            if float(up) - last > 3:	# not seen for some looks: another sleep
                first = float(up)
            seen[pid] = (first, float(up))
            longest = max(longest, (round(float(up) - first, 1), name))
        return longest


def seconds_between(guest, first, second, log=None):
    """Time from the last line of the kernel log that matches first to the one that matches second
    after it (regular expressions), by the kernel's own stamps. log: the kernel log, if it is there already."""
    begun = took = None
    for line in (log or guest.dmesg()).splitlines():
        stamp = re.match(r"\[\s*([\d.]+)\]", line)
        if not stamp:
            continue
        if re.search(second, line) and begun is not None:
            took = round(float(stamp.group(1)) - begun, 2)
        elif re.search(first, line):
            begun = float(stamp.group(1))
    assert took is not None, f"{guest.name} never said {first!r} and then {second!r}"
    return took


def reads_in_flight(pair, bps):
    """Lend and borrow the pair's drive, which gets a known content, and have it in the middle of eight reads of 128 KiB that
    it serves no faster than bps, bytes a second: (BDF, SHA-256 of its content). The caller lifts the throttle."""
    drive = pair.lender.devices[0]
    want = lending.fill(drive)
    bdf, _, disk = lending.borrowed_drive(pair)
    lending.throttle(pair.lender, drive, bps)
    job = pair.borrower.spawn(f"for n in 0 1 2 3 4 5 6 7; do dd if=/dev/{disk} of=/dev/null bs=128k skip=$((n * 8)) count=8 "
                              "iflag=direct status=none & done; wait")
    job.send(b"")
    lending.wait(pair.borrower, f"[ $(awk '{{print $9}}' /sys/block/{disk}/stat) -ge 8 ]", what="8 reads in flight")
    return bdf, want


def fill_memory(guest, spare_mb=48):
    """Take all free memory but spare_mb and fill it with a pattern; intact() looks at it later."""
    guest.text(
        "echo 3 > /proc/sys/vm/drop_caches; mkdir -p /mnt/fill && mount -t tmpfs -o size=100% tmpfs /mnt/fill && "
        f"n=$(( $(awk '/^MemAvailable/ {{print $2}}' /proc/meminfo) / 1024 - {spare_mb} )) && "
        f"dd if=/dev/zero bs=1M count=$n status=none | tr '\\000' '\\{PATTERN:o}' > /mnt/fill/f", timeout=180)
    return int(guest.text("stat -c %s /mnt/fill/f")) >> 20


def intact(guest):
    """How many bytes of the filled memory are not the pattern any more; the memory is free then."""
    wrong = int(guest.text(f"tr -d '\\{PATTERN:o}' < /mnt/fill/f | wc -c", timeout=180))
    guest.run("umount /mnt/fill")
    return wrong
