# SPDX-License-Identifier: GPL-2.0
"""A round: all ways to the drive, one after the other, so that what is compared was measured within the same minutes.

There are two kinds of boot. In the trapped one each eight bytes that cross the NTB are a message to ntbsim, which is counted. In
the mapped one the windows are the other guest's memory itself, as far as data goes: for the drive's DMA, and
for the frames of ntb_transport. Doorbells, device registers and interrupts are messages in both.
"""

import os
import time

import bare
import calls
import lending
import load
import nvmeof
import phases
import report
from cost import host_busy, messages

# The first window holds the drive's registers, or the frames of ntb_transport, which must be allocated aligned to its
# size; the second reaches the peer's memory.
TRAPPED = ({"bar": 2, "size": "2M", "fast": False}, {"bar": 4, "size": "4G", "fast": False})
# As large for ntb_transport, which uses the front half of the first. The drive's registers must be behind the other half, which
# goes by message: the firmware places these two, of 1 MiB each, before the drive.
MAPPED = ({"bar": 2, "size": "4M", "fast": True, "fast_size": "2M", "fast_ram": nvmeof.PLACE},
          {"bar": 4, "size": "4G", "fast": True})
BEFORE = [f"nvme,serial=SPACE{n:03},max_ioqpairs=65535,msix_qsize=2048" for n in range(2)]


def loads(pair, guest, disk, seconds):
    """All loads on a block device: (figures, latencies)."""
    made = {}
    for name in load.LOADS:
        made[name], samples = load.run(pair, guest, disk, name, seconds)
        if samples:
            latencies = samples
    return made, latencies


def bare_loops(pair, guest, bdf, hows, seconds):
    """The bare loop: (figures, latencies) by how it waits."""
    with bare.bound(guest, bdf):
        return {how: bare.run(pair, guest, bdf, how, seconds) for how in hows}


class Round:
    """One round; figures, and the latencies one by one."""

    bare = tuple(bare.HOW)

    def __init__(self, pair, seconds, say):
        self.pair, self.seconds, self.say = pair, seconds, say
        self.bdf = lending.find_pci(pair.lender, lending.NVME)
        self.figures = {"bare": {}, "idle": {}}
        self.latencies = {}
        self.calls = None

    def run(self):
        """All ways."""
        before, busy, start = os.getloadavg()[0], host_busy(), time.monotonic()
        self.local()
        self.borrowed()
        self.nvmeof()
        seconds = time.monotonic() - start
        ours = sum(cost["others_s"] for cost in self._costs())
        measured = sum(cost["seconds"] for cost in self._costs())
        self.figures.update(seconds=seconds, load_average=[before, os.getloadavg()[0]],
                            others_share=ours / (measured * os.cpu_count()), host_busy_s=host_busy() - busy)
        return self

    def _costs(self):
        yield from (figures["cost"] for way in report.WAYS for figures in self.figures[way].values())

    def _keep(self, name, made):
        self.figures[name], self.latencies[report.NAMES[name]] = made

    def _keep_bare(self, place, made):
        self.figures["bare"][place] = {how: figures for how, (figures, _) in made.items()}
        self.latencies.update({report.BARE[place, how]: made[how][1] for how in ("irq", "poll")})

    def local(self):
        """The lender's own drive."""
        guest = self.pair.lender
        self.say("  local: hot-plug, fio, bare loop")
        self.figures["hotplug"] = phases.hotplug(guest, self.bdf)
        self._keep("local", loads(self.pair, guest, lending.nvme_block(guest, self.bdf), self.seconds))
        self._keep_bare("local", bare_loops(self.pair, guest, self.bdf, self.bare, self.seconds))
        lending.nvme_block(guest, self.bdf)

    def borrowed(self):
        """Through devlend."""
        guest = self.pair.borrower
        self.say("  borrowed: borrow, fio, bare loop")
        lending.lend(self.pair.lender, self.bdf)
        lease, self.figures["borrow"] = phases.borrow(guest, lending.wait_offer(guest, self.bdf))
        shadow = lending.shadow_of(guest, lease)
        disk = lending.nvme_block(guest, shadow)
        self.figures["idle"]["borrowed"] = load.idle(self.pair, self.seconds)
        self._keep("borrowed", loads(self.pair, guest, disk, self.seconds))
        self._look(guest, disk)
        made = bare_loops(self.pair, guest, shadow, self.bare, self.seconds)
        self._keep_bare("ntb", made)
        self._crossed(made)
        lending.nvme_block(guest, shadow)
        lending.take_down(self.pair, self.bdf)

    def _look(self, guest, disk):
        """What else there is to be seen of the borrowed drive."""
        self.calls = calls.count(guest, disk)

    def _crossed(self, made):
        """Raise unless the bare loops' data crossed as it should."""
        for how, (figures, samples) in made.items():
            crossed = sum(w["bytes_written"] for w in figures["cost"]["ntb"]["lender"]["windows"].values())
            if crossed < len(samples) * bare.BYTES:
                raise lending.StepFailed(f"bare loop, {how}: {len(samples)} reads, but {crossed} bytes crossed")

    def nvmeof(self, place=None):
        """By NVMe/TCP."""
        self.say("  NVMe/TCP: fio")
        with nvmeof.exported(self.pair, self.bdf, place) as disk:
            self.figures["idle"]["nvmeof"] = load.idle(self.pair, self.seconds)
            self._keep("nvmeof", loads(self.pair, self.pair.borrower, disk, self.seconds))


def refuse_messages(what, figures):
    """Raise where so much data of a load or a loop crossed by message that it cannot have been the exception."""
    an_io = sum(side[kind] for side in messages(figures["cost"]).values()
                for kind in ("memory writes", "memory reads")) / figures["ios"]
    if an_io >= 1:
        raise lending.StepFailed(f"{what}: data crossed by message, {an_io} an I/O")


class MappedRound(Round):
    """A round in which data crosses without messages."""

    bare = ("irq", "poll")

    def _look(self, guest, disk):
        self._refuse("borrowed")

    def _crossed(self, made):
        for how, (figures, _) in made.items():
            refuse_messages(f"bare loop, {how}", figures)

    def nvmeof(self, place=nvmeof.PLACE):
        super().nvmeof(place)
        self._refuse("nvmeof")

    def _refuse(self, way):
        for name, figures in self.figures[way].items():
            refuse_messages(f"{way}, {name}", figures)
