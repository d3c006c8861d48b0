# SPDX-License-Identifier: GPL-2.0
"""Data and counts under load: what fio verifies, and what crosses the NTB meanwhile."""

import pytest

import lending
from fio import fio, ios
from rig import Nvme

PAIR = lending.options(devices=[Nvme(shadow_doorbells=True)], borrower_smp=2)
BEAT_WORD = 2
IOS = 10000
# what a borrow and the first probe may cost, see Documentation/testing.rst
CALLS_MAX = 40
WORDS_MAX = 600


@pytest.fixture
def drive(pair):
    """(BDF, lease, block device), borrowed; given back afterwards."""
    made = lending.borrowed_drive(pair)
    yield made
    lending.take_down(pair, made[0])


def assert_slow(pair):
    """Counts mean something only where no window is mapped straight onto memory."""
    assert not any(w["fast"] for port in pair.ntbsim.config["ports"] for w in port["windows"])


def control_words(out):
    """Scratchpad words written to the peer, but for the beat."""
    words = out["spad_peer_write"]
    return sum(words) - words[BEAT_WORD]


def watch_work(guest):
    """Begin to note what the kernel's workers do: the only threads that devlend can switch to."""
    guest.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing && "
              "echo 8192 > buffer_size_kb && echo > trace && echo 1 > events/workqueue/workqueue_execute_start/enable")


def worked(guest):
    """Works of devlend's modules since watch_work()."""
    return guest.text("cd /sys/kernel/tracing && echo 0 > events/workqueue/workqueue_execute_start/enable; "
                      "grep -F '[devlend' trace || true").splitlines()


def test_fio_verifies(pair, drive):
    """A little of what test_io_fast.py does, with every byte through the trapped window."""
    for order, depth in (("randwrite", 1), ("write", 8)):
        job = fio(pair.borrower, drive[2], rw=order, bs="4k", iodepth=depth, size="128k", verify="crc32c",
                  do_verify=1, verify_fatal=1)
        assert job["read"]["total_ios"] == 32 and job["write"]["total_ios"] == 32


def test_both_queues_are_used(pair, drive):
    """Two CPUs have a queue and an interrupt each; both come."""
    guest = pair.borrower

    def counts():
        lines = guest.text("grep nvme0q /proc/interrupts").splitlines()
        return {line.split()[-1]: sum(int(n) for n in line.split()[1:3]) for line in lines}

    before = counts()
    for cpu in (0, 1):
        fio(guest, drive[2], rw="randread", bs="4k", number_ios=50, cpus_allowed=cpu)
    after = counts()
    moved = [name for name in after if after[name] > before[name] and name != "nvme0q0"]
    assert len(moved) == 2, (before, after)


def test_data_is_on_the_image(pair, drive):
    """A pattern written by the borrower is in the image file, where it belongs."""
    pair.borrower.text(f"yes devlend | tr -d '\\n' | head -c 65536 > /tmp/p && "
                       f"dd if=/tmp/p of=/dev/{drive[2]} bs=64k seek=3 oflag=direct status=none")
    with open(pair.lender.devices[0].image, "rb") as image:
        image.seek(3 * 65536)
        assert image.read(65536) == (b"devlend" * 9363)[:65536]


def test_no_software_on_the_lender(pair, drive, record_property):
    """10,000 I/Os: no message, no interrupt, no switch on the lender, no read across the NTB."""
    assert_slow(pair)
    fio(pair.borrower, drive[2], rw="randread", bs="4k", number_ios=50)
    interrupts = lending.own_interrupts(pair.lender)
    watch_work(pair.lender)
    pair.ntbsim.reset_counters()
    job = fio(pair.borrower, drive[2], rw="randrw", rwmixread=80, bs="512", iodepth=32, number_ios=IOS)
    ports = pair.ntbsim.counters()["ports"]
    assert ios(job) >= IOS
    lender, borrower = ports["a"]["out"], ports["b"]["out"]
    assert control_words(lender) == 0
    assert control_words(borrower) == 0
    assert lender["doorbells"] == borrower["doorbells"] == 0
    assert lending.own_interrupts(pair.lender) == interrupts
    assert worked(pair.lender) == []
    reads = sum(w["reads"] for w in borrower["windows"].values())
    assert reads == 0
    writes = sum(w["writes"] for w in borrower["windows"].values())
    # the driver's own doorbells: at most one for the submission and one for the completion of each
    assert 0 < writes <= 2 * ios(job)
    seconds = job["job_runtime"] / 1000
    record_property("beat_words_per_second", round(lender["spad_peer_write"][BEAT_WORD] / seconds, 1))
    record_property("driver_doorbells_per_io", round(writes / ios(job), 2))


def test_borrow_is_cheap(pair, record_property):
    """Borrow and first probe: few calls, few words (a shadow that forwards takes 244 calls)."""
    bdf = lending.lent_drive(pair)
    offer = lending.wait_offer(pair.borrower, bdf)
    link = f"{lending.BUS}/link0"

    def calls():
        return sum(int(guest.read(f"{link}/{name}")) for guest in pair.guests
                   for name in ("calls_sent", "atomic_sent"))

    before = calls()
    watch_work(pair.lender)
    pair.ntbsim.reset_counters()
    lease = lending.borrow(pair.borrower, offer)
    lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    ports = pair.ntbsim.counters()["ports"]
    made = calls() - before
    # what test_no_software_on_the_lender looks for is seen where it is
    assert worked(pair.lender)
    words = sum(control_words(ports[name]["out"]) for name in ("a", "b"))
    record_property("borrow_calls", made)
    record_property("borrow_words", words)
    print(f"borrow and first probe: {made} calls, {words} scratchpad words")
    lending.take_down(pair, bdf)
    assert 0 < made <= CALLS_MAX
    assert 0 < words <= WORDS_MAX
