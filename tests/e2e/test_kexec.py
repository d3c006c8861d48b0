# SPDX-License-Identifier: GPL-2.0
"""A host starts another kernel by kexec, or crashes into kdump, while a drive is lent and in the middle of reads. No
firmware, and no reset of the machine, lies between the two kernels: what the first had begun would meet the second. Each
new kernel borrows, or lends, the drive again."""

import re
import time

import pytest

import aftermath
import lending
from rig import Nvme, image

CRASH_MB = 160
RESERVED = f"crashkernel={CRASH_MB}M"
PAIR = lending.options(devices=[Nvme(size=16 << 20)], memory=640, lender_append=f"tp_printk {RESERVED}",
                       borrower_append=RESERVED)
pytestmark = [pytest.mark.allow_complaints(*lending.LOSS), pytest.mark.long]
STARTS = r"kexec_core: Starting new kernel"
TAKEN_BACK = r"lent-.*: taken back: "
LOST = r"lease-.*: .* is lost;"
WATCH_S = 10
CRASH = ("sysrq triggered crash", "dump_stack_lvl")	# the panic's own trace
BEAT_TIMEOUT = f"{lending.BUS}/link0/beat_timeout_ms"


def load(guest, modules, crash=False):
    """Load the guest's own kernel a second time, with other modules to load."""
    left_out = ("rig.modules", "crashkernel" if crash else "rig.modules")
    line = " ".join(word for word in guest.read("/proc/cmdline").split() if not word.startswith(left_out))
    for path, name in ((guest.kernel.image, "vmlinuz"), (image.initrd(guest.kernel), "initrd")):
        guest.push(path, f"/tmp/{name}")
    guest.run(f"kexec -s {'-p' if crash else '-l'} /tmp/vmlinuz --initrd=/tmp/initrd "
              f"--command-line='{line} rig.modules={','.join(modules)}' && rm /tmp/vmlinuz /tmp/initrd", timeout=120)


def start(guest):
    """Start what was loaded, wait until it is the new one that answers: what the old one's console said."""
    begin, boots = len(guest.console.text), guest.agent.hellos
    guest.spawn("kexec -e").send(b"")
    guest.console.wait_for(STARTS, 180, begin)
    end = guest.console.text.index("Starting new kernel", begin)
    guest.agent.wait_hello(boots + 1, 240)
    return guest.console.text[begin:end]


def counters(pair):
    """What became of the drive's writes at the borrower's window."""
    assert not pair.ntbsim.config.get("fast")
    return pair.ntbsim.counters()["ports"]["a"]["out"]["windows"]["bar4"]


def written(pair):
    """Writes of the drive's that reached the borrower's memory."""
    return counters(pair)["ram_writes"]


def bus_mastering(guest, bdf):
    return bool(int(guest.text(f"setpci -s {bdf} COMMAND"), 16) & 4)


def read_all(pair, bdf, want):
    """Borrow the drive, which is lent, read all of it, and undo everything."""
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    got = pair.borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    lending.take_down(pair, bdf)


def watch(pair, record_property):
    """Fill the borrower's memory, wait: nothing was written into it."""
    before = written(pair)
    record_property("megabytes_watched", aftermath.fill_memory(pair.borrower))
    time.sleep(WATCH_S)
    assert written(pair) == before
    assert aftermath.intact(pair.borrower) == 0


def test_kexec_of_the_borrower(pair, record_property):
    """The drive is at rest and the windows are closed when the new kernel starts; that borrows it again."""
    load(lending.ready(pair).borrower, lending.MODULES)
    bdf, want = aftermath.reads_in_flight(pair, 128 << 10)
    pair.lender.run("dmesg -C")
    start(pair.borrower)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert "the peer said goodbye" in pair.lender.dmesg()
    assert not bus_mastering(pair.lender, bdf)
    lending.throttle(pair.lender, pair.lender.devices[0], 0)
    watch(pair, record_property)
    record_property("injected", {"kexec of the borrower": 1})
    record_property("leases_lost", 1)
    lending.ready(pair)
    read_all(pair, bdf, want)


def test_kexec_of_the_lender(pair, record_property):
    """Registers closed and the drive stopped before the old kernel ends; the borrower hears it at once."""
    guest = lending.ready(pair).lender
    load(guest, [name for name in lending.MODULES if name != "nvme"])
    bdf, want = aftermath.reads_in_flight(pair, 128 << 10)
    (lease,) = lending.names(pair.borrower, "lease")
    pair.borrower.run("dmesg -C")
    lending.must_write(guest, "/sys/kernel/tracing/events/devlend_lender/lender_step/enable", "1")
    said = start(guest)
    steps = [step for step in re.findall(rf"lender_step: {bdf} ([a-z ]+): 0", said) if step in ("unexpose", "stop")]
    assert steps[0] == "unexpose" and "stop" in steps, said
    # nobody there has enabled it yet: no driver of the drive's is loaded
    assert lending.driver_of(guest, bdf) is None
    assert not bus_mastering(guest, bdf)
    lending.throttle(guest, guest.devices[0], 0)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    log = pair.borrower.dmesg()
    assert "the peer said goodbye" in log and "no beat" not in log
    record_property("link_down_to_shadow_gone_s", aftermath.seconds_between(pair.borrower, aftermath.DOWN, LOST, log))
    record_property("injected", {"kexec of the lender": 1})
    record_property("leases_lost", 1)
    watch(pair, record_property)
    guest.modprobe("nvme")
    assert lending.lent_drive(pair) == bdf
    read_all(pair, bdf, want)


def crash(guest):
    """Crash into the kernel that was loaded for that; what wait_kdump() wants."""
    boots = guest.agent.hellos
    guest.run("echo 1 > /proc/sys/kernel/sysrq")
    guest.spawn("echo c > /proc/sysrq-trigger").send(b"")
    return boots


def wait_kdump(guest, boots):
    """Wait until the kernel that the guest crashed into answers; boots: from crash()."""
    guest.agent.wait_hello(boots + 1, 240)
    assert int(guest.text("awk '/^MemTotal/ {print $2}' /proc/meminfo")) < CRASH_MB << 10, "it is not the crash kernel"


@pytest.mark.parametrize("with_devlend", [True, False], ids=["with devlend", "without"])
@pytest.mark.allow_complaints(*CRASH, *lending.LOSS)
def test_kdump_of_the_borrower(pair, with_devlend, record_property):
    """The crash kernel runs while the drive, which nobody told, still writes into the old one's buffers: none of that is
    memory of the crash kernel's. When that loads devlend the lender ends the lease; when it does not, the lender hears no beat,
    and ends it too. It lends the drive again."""
    guest = lending.ready(pair).borrower
    load(guest, (), crash=True)
    drive = pair.lender.devices[0]
    # eight reads that take a minute, and a lender that waits for longer than the crash kernel takes to start
    bdf, want = aftermath.reads_in_flight(pair, 16 << 10)
    lending.must_write(pair.lender, BEAT_TIMEOUT, "240000")
    wait_kdump(guest, crash(guest))
    record_property("megabytes_watched", aftermath.fill_memory(guest, spare_mb=16))
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/state") == "borrowed"
    assert bus_mastering(pair.lender, bdf)
    before = written(pair)
    lending.throttle(pair.lender, drive, 0)
    time.sleep(WATCH_S)
    record_property("writes_after_the_crash", written(pair) - before)
    # else it would prove nothing
    assert written(pair) > before
    assert aftermath.intact(guest) == 0
    if with_devlend:
        guest.modprobe(*lending.MODULES)
    else:
        lending.must_write(pair.lender, BEAT_TIMEOUT, str(lending.BEAT_TIMEOUT_MS))
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    assert not bus_mastering(pair.lender, bdf)
    record_property("injected", {"crash of the borrower": 1})
    record_property("leases_lost", 1)
    guest.modprobe(*lending.MODULES)	# which changes nothing where they are loaded
    lending.ready(pair)
    read_all(pair, bdf, want)
    guest.restart()


@pytest.mark.allow_complaints(*CRASH, *lending.LOSS)
def test_kdump_of_the_lender(pair, record_property):
    """The borrower hears no beat and closes its window. The drive, which nobody stopped, goes on writing while the crash
    kernel starts; nothing of that arrives. When the crash kernel loads devlend it stops the drive, and lends it."""
    guest = lending.ready(pair).lender
    load(guest, (), crash=True)
    # slower than the crash kernel starts; what is held back has come all the same by the time that it answers
    bdf, want = aftermath.reads_in_flight(pair, 1 << 10)
    lending.must_write(pair.borrower, BEAT_TIMEOUT, "1500")
    (lease,) = lending.names(pair.borrower, "lease")
    pair.borrower.run("dmesg -C")
    before = counters(pair)
    boots = crash(guest)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    closed = counters(pair)
    record_property("link_down_to_shadow_gone_s", aftermath.seconds_between(pair.borrower, aftermath.DOWN, LOST))
    record_property("megabytes_watched", aftermath.fill_memory(pair.borrower))
    wait_kdump(guest, boots)
    assert bus_mastering(guest, bdf)
    record_property("megabytes_watched", aftermath.fill_memory(guest, spare_mb=16))
    lending.throttle(pair.lender, guest.devices[0], 0)
    time.sleep(WATCH_S)
    after = counters(pair)
    # else it would prove nothing: the drive went on, and all that it wrote was stopped
    assert after["dropped_closed"] > before["dropped_closed"]
    assert after["ram_writes"] == closed["ram_writes"]
    record_property("writes_stopped_at_the_window", after["dropped_closed"] - before["dropped_closed"])
    assert aftermath.intact(pair.borrower) == 0
    assert aftermath.intact(guest) == 0
    record_property("injected", {"crash of the lender": 1})
    record_property("leases_lost", 1)
    guest.modprobe(*lending.MODULES)
    lending.ready(pair)
    assert lending.lent_drive(pair) == bdf
    read_all(pair, bdf, want)
    guest.restart()
