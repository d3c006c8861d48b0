# SPDX-License-Identifier: GPL-2.0
"""The core alone: links come up, are lost and come back, in any order and at any time."""

import time

import lending
import pytest

PAIR = dict(devices=[])
FLAPS = 1000
SEED = 1
LINK = "/sys/bus/devlend/devices/link"


def load(guest):
    guest.run("modprobe devlend_core")


def unload(guest):
    guest.run("rmmod devlend_borrower devlend_lender devlend_core 2>/dev/null; ! lsmod | grep -q devlend")


@pytest.fixture
def linked(pair):
    """The pair with the core loaded on both sides and the link up; unloaded afterwards."""
    for guest in pair.guests:
        load(guest)
    both_up(pair)
    yield pair
    pair.ntbsim.link(True)
    for guest in pair.guests:
        unload(guest)


def link_path(guest):
    return guest.text(f"echo {LINK}*")


def value(guest, name):
    return guest.read(f"{link_path(guest)}/{name}").strip()


def both_up(pair):
    """Until both are up, in the same pair of epochs."""
    a, b = pair.guests
    for _ in range(150):
        epochs = [value(g, n) for g, n in ((a, "epoch"), (b, "peer_epoch"), (b, "epoch"), (a, "peer_epoch"))]
        states = [value(g, "state") for g in pair.guests]
        if states == ["up", "up"] and epochs[0] == epochs[1] and epochs[2] == epochs[3]:
            return epochs[0], epochs[2]
        time.sleep(0.2)
    raise AssertionError(f"no agreement: {states} {epochs}")


def said(guest, since, text):
    return guest.text(f"dmesg | tail -n +{since + 1} | grep -c '{text}' || true")


def lines(guest):
    return int(guest.text("dmesg | wc -l"))


def test_attributes(linked):
    a, b = linked.guests
    assert value(a, "peer_host") != value(b, "peer_host")
    assert value(a, "words") == "16"
    a.run(f"echo 5000 >{link_path(a)}/beat_timeout_ms")
    assert value(a, "beat_timeout_ms") == "5000"
    for wrong in ("", "0", "599", "600001", "-1", "x", "5000 x", "99999999999999999999"):
        assert a.run(f"echo {wrong} >{link_path(a)}/beat_timeout_ms", check=False).rc
    assert value(a, "beat_timeout_ms") == "5000"


def test_idle_is_silent(linked):
    """On an idle link the beat is all that is written."""
    time.sleep(2)
    linked.ntbsim.reset_counters()
    time.sleep(5)
    for port in linked.ntbsim.counters()["ports"].values():
        out = port["out"]
        assert sum(out["spad_peer_write"]) == out["spad_peer_write"][2], out["spad_peer_write"]
        assert out["doorbells"] == 0
        print("beat: %.1f words a second" % (out["spad_peer_write"][2] / 5))


def test_reload_either_side(linked):
    """A reload is a new life: new epoch, and the other side is told "goodbye", not "silent"."""
    for round_ in range(6):
        guest, other = linked.guests if round_ % 2 else reversed(linked.guests)
        before, since = value(guest, "epoch"), lines(other)
        unload(guest)
        lending.wait(other, f"test \"$(cat {LINK}*/state)\" != up", 5)
        load(guest)
        both_up(linked)
        assert value(guest, "epoch") != before
        assert said(other, since, "taken for dead") == "0"


def test_both_reload_at_once(linked):
    for _ in range(4):
        jobs = [g.spawn("rmmod devlend_core && modprobe devlend_core") for g in linked.guests]
        for job in jobs:
            job.wait(60)
        both_up(linked)


def test_flaps(linked, record_property):
    """The link goes and comes a thousand times, faster than the work that follows it."""
    linked.ntbsim.reset_counters()
    start = time.monotonic()
    linked.ntbsim.flap(FLAPS, every=0.02, down=0.02, seed=SEED)
    took = time.monotonic() - start
    assert linked.ntbsim.injected()["flap"] == FLAPS
    both_up(linked)
    time.sleep(1)
    both_up(linked)
    record_property("injected", {"flap": FLAPS})
    record_property("flaps", f"from seed {SEED} in {took:.0f} s")


def test_peer_dies(linked):
    """A host that is killed: the survivor notices by itself, and takes the next life as new."""
    a, b = linked.guests
    epoch, old = value(a, "epoch"), value(a, "peer_epoch")
    b.kill()
    lending.wait(a, f"test \"$(cat {LINK}*/state)\" != up", 10)
    assert value(a, "epoch") != epoch
    b.restart()
    b.wait_ready()
    load(b)
    both_up(linked)
    assert value(a, "peer_epoch") != old


def test_silent_peer(linked):
    """The NTB's link stands, but the peer's CPU does not run: the beat tells."""
    a, b = linked.guests
    epoch, since = value(a, "epoch"), lines(a)
    b.qmp.command("stop")
    lending.wait(a, f"test \"$(cat {LINK}*/state)\" = hello", 15)
    assert said(a, since, "taken for dead") == "1"
    second = value(a, "epoch")
    assert second != epoch
    time.sleep(5)
    # its stale words are not listened to: no new life every few seconds
    assert value(a, "epoch") == second
    b.qmp.command("cont")
    both_up(linked)


def test_other_client_is_named(pair):
    """Another client owns the NTB: one line says which, and nothing else happens."""
    guest = pair.lender
    guest.run("modprobe ntb_tool")
    since = lines(guest)
    load(guest)
    try:
        assert said(guest, since, "held by ntb_tool") == "1"
        assert not guest.text(f"ls -d {LINK}* 2>/dev/null || true")
    finally:
        unload(guest)
        guest.run("rmmod ntb_tool")


def test_ntb_function_goes(linked):
    """remove and rescan, unbind and bind of the NTB function, with the link up."""
    a = linked.lender
    bdf = a.text("ls /sys/bus/ntb/devices").split()[0]
    for _ in range(2):
        a.run(f"echo {bdf} >/sys/bus/pci/drivers/ntb_hw_intel/unbind")
        assert not a.text(f"ls -d {LINK}* 2>/dev/null || true")
        a.run(f"echo {bdf} >/sys/bus/pci/drivers/ntb_hw_intel/bind")
        both_up(linked)
    a.run(f"echo 1 >/sys/bus/pci/devices/{bdf}/remove")
    assert not a.text(f"ls -d {LINK}* 2>/dev/null || true")
    a.run("echo 1 >/sys/bus/pci/rescan")
    both_up(linked)
