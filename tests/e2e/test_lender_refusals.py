# SPDX-License-Identifier: GPL-2.0
"""What is refused: to lend a device that vfio holds, to let vfio have one that is lent, to sleep while a device is in use (both hosts),
a reset that the lender cannot make, a device that could not be reset. Each with its errno and one line
of why, and all is well again when the cause is gone."""

import errno
import hashlib
from pathlib import Path

import pytest

import lending
from rig import Nvme

# with an IOMMU, since vfio wants one; by default it translates nothing. Behind a conventional bridge both edu have one
# requester id, and so one group
DEVICES = [Nvme(size=8 << 20), "pcie-pci-bridge,id=old"] + [f"edu,dma_mask=0xffffffff,bus=old,addr={n}" for n in (1, 2)]
PAIR = lending.options(devices=DEVICES, lender_iommu=True, lender_append="iommu=pt")
UNSAFE = "/sys/module/devlend_lender/parameters/unsafe"
LEND = f"{lending.DRIVER}/lend"
SLEEP = "/sys/power/state"


def device_file(bdf, name):
    """A file of a PCI device."""
    return f"/sys/bus/pci/devices/{bdf}/{name}"


def said(guest, text):
    """How many lines of a guest's kernel log have a text."""
    return int(guest.run(f"dmesg | grep -c -F '{text}'", check=False).out)


def bind(guest, bdf, driver):
    """Have a device bound to the one driver that its driver_override names; "" = whoever matches."""
    lending.must_write(guest, device_file(bdf, "driver_override"), driver or "\n")
    if lending.driver_of(guest, bdf):
        lending.must_write(guest, device_file(bdf, "driver/unbind"), bdf)
    lending.must_write(guest, "/sys/bus/pci/drivers_probe", bdf)


@pytest.fixture
def held(pair, tmp_path):
    """The lender's drive, bound to vfio-pci and opened: (BDF, job that holds it)."""
    guest = lending.ready(pair).lender
    lending.push_program(guest, "vfio_hold", tmp_path)
    guest.modprobe("vfio-pci", "vfio_iommu_type1")
    bdf = lending.find_pci(guest, lending.NVME)
    bind(guest, bdf, "vfio-pci")
    job = guest.spawn(f"/tmp/vfio_hold $(basename $(readlink {device_file(bdf, 'iommu_group')})) {bdf}")
    job.wait_output("held")
    yield bdf, job
    job.send(b"")
    bind(guest, bdf, "")
    assert lending.driver_of(guest, bdf) == "nvme"


def test_device_that_vfio_holds(pair, held):
    """Not lent while open; lent afterwards; and given back to vfio-pci, override and all."""
    bdf, job = held
    guest, why = pair.lender, "a vfio user has it open"
    for text in (bdf, bdf + " force"):
        before = said(guest, why)
        assert guest.write(LEND, text) == errno.EBUSY
        assert said(guest, why) == before + 1
        assert lending.driver_of(guest, bdf) == "vfio-pci"
        assert lending.names(guest, "lent") == []
    job.send(b"")
    assert job.wait().rc == 0
    lending.lend(guest, bdf)
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.give_back(pair.borrower, lease)
    lending.reclaim(guest, bdf)
    assert lending.driver_of(guest, bdf) == "vfio-pci"
    assert guest.read(device_file(bdf, "driver_override")) == "vfio-pci"


def test_vfio_does_not_get_what_is_lent(pair):
    """With the drive borrowed and read, vfio-pci is not bound to it by any of the ways that there are, and the reads go on. The
    override that names it counts when the drive is reclaimed."""
    guest = lending.ready(pair).lender
    guest.modprobe("vfio-pci", "vfio_iommu_type1")
    bdf, lease, disk = lending.borrowed_drive(pair)
    job = lending.start_reads(pair.borrower, disk)
    vfio, ids = "/sys/bus/pci/drivers/vfio-pci", lending.NVME.replace(":", " ")
    lending.must_write(guest, f"{vfio}/new_id", ids)
    assert guest.write(f"{vfio}/bind", bdf) == errno.ENODEV	# the override is the lender's: no match
    lending.must_write(guest, device_file(bdf, "driver_override"), "vfio-pci")
    assert guest.write(f"{vfio}/bind", bdf) == errno.EBUSY
    lending.must_write(guest, "/sys/bus/pci/drivers_probe", bdf)
    assert guest.write(f"{vfio}/unbind", bdf) == errno.ENODEV
    group = guest.text(f"basename $(readlink {device_file(bdf, 'iommu_group')})")
    assert guest.run(f"test -e /dev/vfio/{group}", check=False).rc != 0
    assert lending.driver_of(guest, bdf) == "devlend_lender"
    done = f"awk '{{print $1}}' /sys/block/{disk}/stat"
    before = int(pair.borrower.text(done))
    lending.wait(pair.borrower, f"[ $({done}) -gt {before + 200} ]", what="the reads to go on")
    assert pair.borrower.read(f"{lending.BUS}/{lease}/state") == "active"
    lending.give_back(pair.borrower, lease)
    job.wait(60)
    lending.reclaim(guest, bdf)
    assert lending.driver_of(guest, bdf) == "vfio-pci"
    assert guest.read(device_file(bdf, "driver_override")) == "vfio-pci"
    lending.must_write(guest, f"{vfio}/remove_id", ids)
    bind(guest, bdf, "")
    assert lending.driver_of(guest, bdf) == "nvme"


def test_group_of_a_lent_device(pair, tmp_path):
    """Another device of its group: vfio-pci is bound, and nobody can open it, as long as the first is lent."""
    guest = lending.ready(pair).lender
    lending.push_program(guest, "vfio_hold", tmp_path)
    guest.modprobe("vfio-pci", "vfio_iommu_type1")
    one, two = guest.text("lspci -D -n -d 1234:11e8 | cut -d' ' -f1").split()
    group = guest.text(f"basename $(readlink {device_file(two, 'iommu_group')})")
    assert group == guest.text(f"basename $(readlink {device_file(one, 'iommu_group')})")
    # a reset of the bus, which the kernel took for possible before it found the other
    lending.must_write(guest, device_file(one, "reset_method"), "\n")
    lending.lend(guest, one, force=True)
    assert guest.read(f"{lending.BUS}/lent-{one}/isolated") == "1"
    bind(guest, two, "vfio-pci")
    assert lending.driver_of(guest, two) == "vfio-pci"
    hold = f"/tmp/vfio_hold {group} {two} </dev/null"
    opened = guest.run(hold, check=False)
    assert opened.rc == 1 and opened.out == "", opened
    lending.reclaim(guest, one)
    assert guest.run(hold).out == "held\n"
    bind(guest, two, "")
    lending.must_write(guest, device_file(two, "driver_override"), "\n")


def test_unsafe_in_a_group_that_is_in_use(pair):
    """Where the IOMMU translates for nobody in the group, unsafe=1 lends a device beside one that this host uses; which
    works on, before and after."""
    guest = lending.ready(pair).lender
    one, two = guest.text("lspci -D -n -d 1234:11e8 | cut -d' ' -f1").split()
    guest.run("modprobe rig_edu dma_bits=32")
    lending.must_write(guest, device_file(one, "reset_method"), "\n")
    assert guest.write(LEND, f"{one} force") == errno.EBUSY
    lending.must_write(guest, UNSAFE, "Y")
    before = said(guest, "reaches all memory of this host (unsafe=1)")
    lending.lend(guest, one, force=True)
    assert said(guest, "reaches all memory of this host (unsafe=1)") == before + 1
    assert guest.read(f"{lending.BUS}/lent-{one}/isolated") == "0"
    lending.must_write(guest, UNSAFE, "N")
    assert guest.write(device_file(two, "transfer"), "64", timeout=120) == 0
    lending.give_back(pair.borrower, lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, one)))
    lending.wait_state(guest, f"lent-{one}", "offered")
    lending.reclaim(guest, one)
    assert lending.driver_of(guest, one) == "rig_edu"
    for bdf in (one, two):
        assert guest.write(device_file(bdf, "transfer"), "64", timeout=120) == 0
    guest.run("rmmod rig_edu")


@pytest.fixture
def sleepy(pair):
    """Guests that only try to sleep: devices are suspended, and resumed without delay."""
    for guest in lending.ready(pair).guests:
        lending.must_write(guest, "/sys/module/suspend/parameters/pm_test_delay", "0")
        lending.must_write(guest, "/sys/power/pm_test", "devices")
    yield pair
    for guest in pair.guests:
        lending.must_write(guest, "/sys/power/pm_test", "none")


def test_no_sleep_while_in_use(sleepy):
    """Refused on both hosts while borrowed, with one line; the lease works on; possible again afterwards."""
    pair, why = sleepy, "this host cannot sleep"
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, disk = lending.borrowed_drive(pair)
    for guest in pair.guests:
        for how in ("freeze", "mem"):
            before = said(guest, why)
            assert guest.write(SLEEP, how) == errno.EBUSY, (guest.name, how)
            assert said(guest, why) == before + 1
            assert guest.text(f"dmesg | grep '{why}' | tail -n1").count(bdf) == 1
    got = pair.borrower.text(f"dd if=/dev/{disk} bs=128k iflag=direct status=none | sha256sum", timeout=300)
    assert got.split()[0] == want
    lending.give_back(pair.borrower, lease)
    lending.wait_state(pair.lender, f"lent-{bdf}", "offered")
    # offered, and not in use: no reason to refuse; nor has it harmed the offer
    for guest in pair.guests:
        assert guest.write(SLEEP, "freeze") == 0, guest.name
        assert "suspend debug" in guest.text("dmesg | tail -n 200").lower(), guest.name
    lease = lending.borrow(pair.borrower, lending.wait_offer(pair.borrower, bdf))
    disk = lending.nvme_block(pair.borrower, lending.shadow_of(pair.borrower, lease))
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)
    assert pair.lender.write(SLEEP, "freeze") == 0


@pytest.fixture
def no_reset(pair):
    """BDF of the lender's drive; how it is reset is put back afterwards."""
    guest = lending.ready(pair).lender
    bdf = lending.find_pci(guest, lending.NVME)
    method = guest.read(device_file(bdf, "reset_method"))
    assert "flr" in method
    yield bdf
    lending.must_write(guest, device_file(bdf, "reset_method"), method)


def test_reset_that_would_be_refused_is_not_told(pair, no_reset):
    """A drive with FLR that this host cannot reset is lent by force: its borrower sees no FLR."""
    bdf, guest = no_reset, pair.borrower
    lending.must_write(pair.lender, device_file(bdf, "reset_method"), "\n")
    assert pair.lender.write(LEND, bdf) == errno.ENOTTY
    lending.lend(pair.lender, bdf, force=True)
    assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/resettable") == "0"
    shadow = lending.shadow_of(guest, lending.borrow(guest, lending.wait_offer(guest, bdf)))
    assert "FLReset-" in guest.text(f"lspci -vv -s {shadow}")
    assert "FLReset+" in pair.lender.text(f"lspci -vv -s {bdf}")
    assert guest.run(f"test -e {device_file(shadow, 'reset')}", check=False).rc != 0
    disk = lending.nvme_block(guest, shadow)
    guest.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


def quarantined(pair, bdf, remove=False):
    """A lent drive in quarantine: seen on both hosts, not borrowed, not lent again, taken back by reclaim, or found
    afresh after its removal."""
    lending.wait_state(pair.lender, f"lent-{bdf}", "quarantined")
    offer = lending.wait_offer(pair.borrower, bdf, "quarantined")
    assert pair.borrower.write(f"{lending.BUS}/{offer}/borrow", "auto") == errno.ENODEV
    assert lending.names(pair.borrower, "lease") == []
    assert pair.lender.write(LEND, bdf) == errno.EBUSY
    assert said(pair.lender, "quarantined; reclaim it") >= 1
    if remove:
        # another reset is no way out, even where it works
        assert pair.lender.write(device_file(bdf, "reset_method"), "flr") == 0
        lending.must_write(pair.lender, device_file(bdf, "reset"), "1")
        assert pair.lender.read(f"{lending.BUS}/lent-{bdf}/state") == "quarantined"
        lending.must_write(pair.lender, device_file(bdf, "remove"), "1")
        lending.wait(pair.lender, f"[ ! -e {lending.BUS}/lent-{bdf} ]")
        lending.must_write(pair.lender, "/sys/bus/pci/rescan", "1")
        lending.nvme_block(pair.lender, bdf)
    else:
        lending.reclaim(pair.lender, bdf)
    lending.wait(pair.borrower, f"[ ! -e {lending.BUS}/{offer} ]")
    assert lending.driver_of(pair.lender, bdf) == "nvme"
    assert pair.lender.read(device_file(bdf, "driver_override")) == "(null)"


def test_quarantine_on_return(pair, no_reset):
    """It cannot be reset when it is returned; after a reclaim, and a way to reset it, it can be lent again."""
    bdf, lease, _ = lending.borrowed_drive(pair)
    method = pair.lender.read(device_file(bdf, "reset_method"))
    lending.must_write(pair.lender, device_file(bdf, "reset_method"), "\n")
    lending.give_back(pair.borrower, lease)
    quarantined(pair, bdf)
    lending.must_write(pair.lender, device_file(bdf, "reset_method"), method)
    bdf, _, disk = lending.borrowed_drive(pair)
    pair.borrower.text(f"dd if=/dev/{disk} of=/dev/null bs=4k count=4 iflag=direct status=none")
    lending.take_down(pair, bdf)


@pytest.mark.allow_complaints(*lending.LOSS)
def test_reset_of_the_borrower_fails(pair, no_reset):
    """The borrower asks for a reset that fails: it gets an answer, so the lease ends in order; quarantine."""
    want = lending.fill(pair.lender.devices[0])
    bdf, lease, _ = lending.borrowed_drive(pair)
    guest = pair.borrower
    lending.must_write(pair.lender, device_file(bdf, "reset_method"), "\n")
    guest.write(device_file(lending.shadow_of(guest, lease), "reset"), "1", timeout=120)
    lending.wait(guest, f"[ ! -e {lending.BUS}/{lease} ]", what="the lease to go")
    quarantined(pair, bdf, remove=True)
    assert hashlib.sha256(Path(pair.lender.devices[0].image).read_bytes()).hexdigest() == want
