# SPDX-License-Identifier: GPL-2.0
"""Two hosts and an hour of bad luck: what a soak does, step by step, from one seed.

Soak.step() takes a random action: what operators do (borrow, return, lend, reclaim, reset, reload
modules), what drives do (reads, writes), and what goes wrong meanwhile (the link flaps, a host loses its
power, the NTB is pulled). After each, settle() waits until both hosts agree again: the drive is
offered, or it is borrowed and reads. Nothing is excused but the lease itself.

Content of the drive is known at all times: Content says of each block what may stand there. A write
that an accident cut off leaves the old content or the new; whatever is read then is what it is from then on.
"""

import collections
import hashlib
import time

import leaks
import lending
from rig.agent import CommandFailed, GuestGone

BLOCK = 512		# small, since each 8 bytes are a message of the simulator
BLOCKS = 24		# that are written to and read; scattered over the drive
STRIDE = 307		# blocks between two of them


def text_of(tag):
    """The content of a block, as the guest makes it: a line over and over."""
    line = f"{tag:015x}\n".encode()
    return line * (BLOCK // len(line))


class Content:
    """What may stand in each block: one tag, or two where a write was cut off."""

    def __init__(self, drive):
        self.may = {n: {0} for n in range(BLOCKS)}
        with open(drive.image, "r+b") as image:
            for n in range(BLOCKS):
                image.seek(n * STRIDE * BLOCK)
                image.write(text_of(0))

    def read(self, n, digest):
        """Return whether a block may read so; it is known from then on."""
        found = {tag for tag in self.may[n] if hashlib.md5(text_of(tag)).hexdigest() == digest}
        if found:
            self.may[n] = found
        return bool(found)


class Soak:
    """See above. counts says how often what was done; wrong, which blocks read what they must not."""

    def __init__(self, pair, rng):
        self.pair, self.rng = pair, rng
        self.lender, self.borrower = pair.lender, pair.borrower
        self.content = Content(pair.lender.devices[0])
        self.counts = collections.Counter()
        self.wrong = []
        self.tag = 0
        self.lease = self.disk = None
        self.before = {}	# footprint of each guest since its last boot
        self.calm = [self.borrow_or_return, self.read, self.write, self.reset_shadow, self.reset_controller,
                     self.lend_again, self.reload_borrower, self.reload_lender, self.reload_core]
        self.storm = [self.flap, self.force_reclaim, self.reset_at_lender, self.pull_ntb]
        self.death = [self.kill_lender, self.kill_borrower]

    def start(self):
        self.bdf = lending.lent_drive(self.pair)
        self.settle()

    def take_footprint(self, guest):
        """After a boot, when each path was taken once and caches are warm."""
        self.back_to_offer()
        self.borrow_or_return()
        self.read()
        self.back_to_offer()
        self.before[guest.name] = leaks.footprint(guest)

    # One step

    def step(self):
        """A calm action; or a storm, in the middle of writes or of a borrow; or now and then a death."""
        dice = self.rng.random()
        if dice < 0.55:
            self.act(self.rng.choice(self.calm))
        elif dice < 0.93:
            self.in_the_middle(self.rng.choice(self.storm))
        else:
            self.in_the_middle(self.rng.choice(self.death))
        self.settle()

    def act(self, action):
        self.counts[action.__name__] += 1
        action()

    def in_the_middle(self, accident):
        """An accident while writes are under way, or a borrow is."""
        if self.disk:
            job, plan = self.start_writes(8)
            done = 0
            if self.rng.random() < 0.8:
                done = self.rng.randrange(1, 4)
                job.wait_output(f"wrote {plan[done - 1][0]}\n", 200)
            self.act(accident)
            self.end_writes(job, plan)
        else:
            offer = lending.wait_offer(self.borrower, self.bdf)
            job = self.borrower.spawn(f"echo auto > {lending.BUS}/{offer}/borrow")
            job.send(b"")
            time.sleep(self.rng.random())	# anywhere in it
            self.act(accident)
            self.finish(job)

    @staticmethod
    def finish(job):
        """Until a command has ended, or its guest has."""
        try:
            job.wait(200)
        except GuestGone:
            pass

    def injected(self):
        """What went wrong so far, as figures.py counts it."""
        return {a.__name__: self.counts[a.__name__] for a in self.storm + self.death if a.__name__ in self.counts}

    # What operators and drives do

    def borrow_or_return(self):
        if self.lease:
            lending.give_back(self.borrower, self.lease)
            self.lease = self.disk = None
        else:
            self.lease = lending.borrow(self.borrower, lending.wait_offer(self.borrower, self.bdf))
            self.disk = lending.nvme_block(self.borrower, lending.shadow_of(self.borrower, self.lease))

    def need_disk(self):
        if not self.disk:
            self.borrow_or_return()

    def back_to_offer(self):
        if self.lease:
            self.borrow_or_return()

    def read(self):
        """Some blocks, all of them checked."""
        self.need_disk()
        self.check(self.rng.sample(range(BLOCKS), 6))

    def check(self, blocks):
        out = self.borrower.text("set -o pipefail; " + "".join(
            f"dd if=/dev/{self.disk} bs={BLOCK} skip={n * STRIDE} count=1 iflag=direct status=none | md5sum || exit 1;"
            for n in blocks), timeout=200)
        for n, line in zip(blocks, out.splitlines(), strict=True):
            self.counts["blocks read"] += 1
            if not self.content.read(n, line.split()[0]):
                self.wrong.append((n, sorted(self.content.may[n]), line))

    def start_writes(self, count):
        """Writes one after the other in the background: (job, [(block, tag)])."""
        plan = []
        for n in self.rng.sample(range(BLOCKS), count):
            self.tag += 1
            plan.append((n, self.tag))
            self.content.may[n] = self.content.may[n] | {self.tag}
        job = self.borrower.spawn("".join(
            f"yes {tag:015x} | head -c {BLOCK} | dd of=/dev/{self.disk} bs={BLOCK} seek={n * STRIDE} iflag=fullblock oflag=direct "
            f"conv=nocreat,notrunc status=none || exit 1; echo wrote {n};" for n, tag in plan))
        job.send(b"")
        return job, plan

    def end_writes(self, job, plan):
        """What the job said was written is known to be there; of the rest, either may."""
        self.finish(job)
        said = job.text()
        for n, tag in plan:
            if f"wrote {n}\n" in said:
                self.content.may[n] = {tag}
                self.counts["blocks written"] += 1

    def write(self):
        self.need_disk()
        self.end_writes(*self.start_writes(6))

    def reset_shadow(self):
        self.need_disk()
        shadow = lending.shadow_of(self.borrower, self.lease)
        lending.must_write(self.borrower, f"/sys/bus/pci/devices/{shadow}/reset", "1")

    def reset_controller(self):
        self.need_disk()
        self.borrower.run(f"nvme reset /dev/{self.disk[:-2]}", timeout=120)

    def lend_again(self):
        self.back_to_offer()
        lending.wait_state(self.lender, f"lent-{self.bdf}", "offered")
        lending.reclaim(self.lender, self.bdf)
        lending.lend(self.lender, self.bdf)

    def reload_borrower(self):
        self.borrower.run("rmmod devlend_borrower && modprobe devlend_borrower", timeout=200)
        self.lease = self.disk = None

    def reload_lender(self):
        self.lender.run("rmmod devlend_lender && modprobe devlend_lender", timeout=200)

    def reload_core(self):
        guest = self.rng.choice(self.pair.guests)
        guest.run("rmmod devlend_borrower devlend_lender devlend_core && "
                  "modprobe -a devlend_core devlend_lender devlend_borrower", timeout=200)

    # What goes wrong

    def flap(self):
        for _ in range(self.rng.randrange(1, 4)):
            self.pair.ntbsim.link(False)
            time.sleep(self.rng.random() * 0.3)
            self.pair.ntbsim.link(True)

    def force_reclaim(self):
        lending.must_write(self.lender, f"{lending.DRIVER}/reclaim", f"{self.bdf} force")

    def reset_at_lender(self):
        lending.must_write(self.lender, f"/sys/bus/pci/devices/{self.bdf}/reset", "1")

    def pull_ntb(self):
        guest = self.rng.choice(self.pair.guests)
        ntb = guest.text("ls /sys/bus/ntb/devices").split()[0]
        guest.run(f"echo {ntb} > /sys/bus/pci/drivers/ntb_hw_intel/unbind && "
                  f"echo {ntb} > /sys/bus/pci/drivers/ntb_hw_intel/bind", timeout=200)

    def kill_lender(self):
        self.lender.restart()
        del self.before[self.lender.name]

    def kill_borrower(self):
        self.borrower.restart()
        del self.before[self.borrower.name]
        self.lease = self.disk = None

    # Afterwards

    def settle(self):
        """Until both hosts are well and agree: the drive is offered, or it is borrowed and reads."""
        for _ in range(5):
            try:
                self.agree()
                break
            except (CommandFailed, lending.StepFailed):
                # one that is lost only now is no failure: an accident takes a moment to be noticed
                if not self.lease or self.lease in lending.names(self.borrower, "lease"):
                    raise
        for guest in self.pair.guests:
            if guest.name not in self.before:
                self.take_footprint(guest)

    def agree(self):
        lending.ready(self.pair)
        if f"lent-{self.bdf}" not in lending.names(self.lender, "lent"):
            lending.lend(self.lender, self.bdf)
        lending.wait(self.lender, f"grep -qE 'offered|borrowed' {lending.BUS}/lent-{self.bdf}/state", what="the drive at rest")
        lending.wait(self.borrower, f"! ls -d {lending.BUS}/lease-* >/dev/null 2>&1 || grep -q active {lending.BUS}/lease-*/state",
                     what="the lease at rest")
        had, self.disk = self.lease, None
        found = lending.names(self.borrower, "lease")
        self.lease = found[0] if found else None
        if self.lease:
            self.disk = lending.nvme_block(self.borrower, lending.shadow_of(self.borrower, self.lease))
            self.check(self.rng.sample(range(BLOCKS), 3))
        else:
            self.counts["leases lost"] += had is not None
            lending.wait_offer(self.borrower, self.bdf)

    def end(self):
        """All content checked, all given back; returns what is left behind, as texts."""
        self.need_disk()
        self.check(range(BLOCKS))
        self.back_to_offer()
        left = []
        for guest in self.pair.guests:
            things, used = leaks.footprint(guest)
            before, used_before = self.before[guest.name]
            if things != before:
                left.append(f"{guest.name}: before:\n{before}\nafter:\n{things}")
            if used - used_before >= leaks.SLACK_KB * 2:
                left.append(f"{guest.name}: {used - used_before} kB more in use")
            left += [f"{guest.name}: {leak}" for leak in leaks.scan_for_leaks(guest)]
        lending.take_down(self.pair, self.bdf)
        return left
