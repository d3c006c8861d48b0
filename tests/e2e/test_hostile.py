# SPDX-License-Identifier: GPL-2.0
"""A peer that means harm, without a kernel: it says thousands of things to a host that lends and borrows.

The guest has two NTBs. The attacker is behind the first. Behind the second is an honest peer, which holds a lease all
the while. DEVLEND_SEED and DEVLEND_MESSAGES: seed, and messages against each side. DEVLEND_KMEMLEAK: look for
leaks, which makes it slower.
"""

import collections
import os
import random
import re
import struct
import time
import uuid

import lending
import pytest
from hostile import wire
from hostile.attacks import Attacks, spoil
from hostile.channel import Channel, SessionEnded
from hostile.lies import ATTACHES, CONFIGS, GRANTS, TAKEN
from hostile.roles import Borrower, Lender
from leaks import scan_for_leaks
from rig import Nvme

SEED = int(os.environ.get("DEVLEND_SEED", "1"))
MESSAGES = int(os.environ.get("DEVLEND_MESSAGES", "20000"))
KMEMLEAK = bool(os.environ.get("DEVLEND_KMEMLEAK"))
BATCH = 1000		# messages of a session
SLICE = 50		# messages that are made and sent in one go
LEAK = 48 << 10		# KiB; what caches and the sanitizer's quarantine may take

PAIR = lending.options(kernel=os.environ.get("DEVLEND_KERNEL", "checking"), puppet="borrower", second_peer=True,
                       kmemleak=KMEMLEAK, devices=[Nvme(), Nvme(serial="LENT0002")])
# what a host says of peers like these, and of what became of their devices
SAID = re.compile(r"devlend|pci 8|pci_bus 8|nvme|callbacks suppressed")


class Scene:
    """The guest, the attacker's channel and the honest peer with its lease."""

    def __init__(self, pair):
        self.pair, self.guest = pair, pair.lender
        self.rng = random.Random(SEED)
        for link in (0, 1):
            lending.wait(self.guest, f"[ -e {lending.BUS}/link{link}/beat_timeout_ms ]")
            lending.must_write(self.guest, f"{lending.BUS}/link{link}/beat_timeout_ms", str(lending.BEAT_TIMEOUT_MS))
        self.devices = self.guest.text(f"lspci -D -n -d {lending.NVME} | cut -d' ' -f1").split()
        for bdf in self.devices:
            lending.lend(self.guest, bdf)
        self.attacker = self.channel(pair.puppet)
        self.honest = self.channel(pair.second).open()
        self.borrower = Borrower(self.honest)
        offers = self.borrower.offers(len(self.devices))
        self.host, self.theirs = offers[1].id.host, offers[1].id
        self.grant = self.borrower.borrow(offers[1])
        self.borrower.use(self.grant)
        self.recorded = self.record()

    def channel(self, puppet):
        return Channel(puppet, uuid.UUID(int=self.rng.getrandbits(128), version=4), self.rng)

    def record(self):
        """Honest sessions in both roles; what was said in them."""
        self.attacker.heard = []
        self.attacker.open()
        borrower = Borrower(self.attacker)
        borrower.session(1)
        lender = Lender(self.attacker)
        assert self.borrow(lender) == 0
        assert self.give_back() == 0
        assert lender.withdraw() == wire.OK
        return list(self.attacker.heard) + [
            wire.Message(wire.OP["BORROW"], payload=wire.borrow(wire.OfferId(self.attacker.host), self.attacker.host)),
            wire.Message(wire.OP["ATTACH"], payload=Borrower.maps()),
            wire.Message(wire.OP["PROBE"], payload=wire.probe(wire.PROBE_MEMORY, 0, 0x1000)),
            wire.Message(wire.OP["CONFIG"]), wire.Message(wire.OP["OFFERS"]),
            wire.Message(wire.OP["HELLO"], payload=wire.hello(self.attacker.host, self.attacker.peer)),
            wire.Message(wire.OP["OFFER"], payload=lender.offer.pack()),
            wire.Message(wire.OP["WITHDRAW"], payload=lender.offer.id.pack())]

    def write(self, path, value, timeout=120):
        """Write to a sysfs file of the guest's while the attacker goes on talking; 0 or the shell's status."""
        job = self.guest.spawn(f"echo {value} > {path}")
        job.send(b"")
        self.attacker.pump(lambda: job.done, timeout, f"a write to {path}")
        return job.wait().rc

    def borrow(self, lender):
        """Have the guest borrow what the attacker lends; whether it refused."""
        assert lender.tell() == wire.OK
        return self.write(f"{lending.BUS}/{self.offer()}/borrow", "auto")

    def give_back(self):
        (lease,) = lending.names(self.guest, "lease")
        return self.write(f"{lending.BUS}/{lease}/return", 1)

    def offer(self):
        prefix = f"offer-{self.attacker.host.hex[:8]}"
        return next(name for name in lending.names(self.guest, "offer") if name.startswith(prefix))

    def normal_again(self):
        """The lease over the other link was not touched, and with an attacker that turned honest all goes well."""
        self.honest.drain(quiet=0)
        self.borrower.prove(self.grant)
        self.record()


@pytest.fixture(scope="module")
def scenes():
    return {}


@pytest.fixture
def scene(pair, scenes):
    if scenes.get("pair") is not pair:
        scenes.update(pair=pair, scene=Scene(pair))
    print(f"seed {SEED}")
    return scenes["scene"]


def available(guest):
    """KiB of memory that the guest has left."""
    guest.run("echo 3 >/proc/sys/vm/drop_caches")
    return int(re.search(r"MemAvailable:\s+(\d+)", guest.read("/proc/meminfo")).group(1))


def uptime(guest):
    return float(guest.read("/proc/uptime").split()[0])


def log_lines(guest, since):
    """Lines of the kernel log since a time, counted by what they say, numbers aside."""
    lines = collections.Counter()
    for line in guest.dmesg().splitlines():
        found = re.match(r"\[\s*([\d.]+)\] (.*)", line)
        if found and float(found.group(1)) >= since:
            lines[re.sub(r"0x[0-9a-f]+|[0-9a-f-]{36}|\b[0-9a-f]{4,}\b|\d+", "#", found.group(2))] += 1
    return lines


class Measured:
    """What an attack may not do to the host: take memory, flood the log."""

    def __init__(self, guest):
        self.guest = guest
        self.memory, self.since, self.began = available(guest), uptime(guest), time.monotonic()

    def check(self, record_property, name, attacks):
        lines, now = log_lines(self.guest, self.since), uptime(self.guest)
        lost = self.memory - available(self.guest)
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(attacks.items()))
        record_property("injected", {"hostile message": sum(attacks.values())})
        record_property(f"{name}, seed {SEED}",
                        f"{sum(attacks.values())} messages in {time.monotonic() - self.began:.0f} s ({kinds}), "
                        f"{sum(lines.values())} lines of log, {lost} KiB of memory")
        assert lost < LEAK
        assert not (KMEMLEAK and scan_for_leaks(self.guest))
        # ten in five seconds, for each line that can be caused; one more says how many were suppressed
        bound = 11 * ((now - self.since) / 5 + 2)
        assert not {line: n for line, n in lines.items() if n > bound}


def attack(scene, side, make_session, count):
    """Sessions of many messages; what was said, by kind."""
    said = collections.Counter()
    ended = 0
    while sum(said.values()) < count:
        attacks = make_session()
        attacks.counts = said
        try:
            left = min(BATCH, count - sum(said.values()))
            while left > 0:
                scene.attacker.run_script([op for script in attacks.scripts(min(SLICE, left)) for op in script])
                left -= SLICE
            scene.attacker.drain(quiet=0.1)
        except SessionEnded:
            ended += 1
        if scene.rng.random() < 0.3:
            # goodbye by nonsense: words that no host would say
            scene.attacker.puppet.run(*[("peer_write", word, scene.rng.getrandbits(32)) for word in (0, 1, 3, 5, 0)],
                                      ("ring", 0))
        scene.honest.drain(quiet=0)
    print(f"{side}: {dict(said)}, {ended} sessions ended by the host")
    return said


def test_lender(scene, record_property):
    """A hostile borrower, with a lease of its own."""
    measured = Measured(scene.guest)

    def session():
        scene.attacker.open()
        borrower = Borrower(scene.attacker)
        offer = borrower.offers(1)[0]
        grant = borrower.borrow(offer)
        if scene.rng.random() < 0.8:
            borrower.use(grant)
        return Attacks(scene.rng, scene.attacker, "lender", scene.host, [grant.handle], [offer.id], scene.recorded)
    said = attack(scene, "lender", session, MESSAGES)
    measured.check(record_property, "against the lender", said)
    scene.normal_again()


def test_borrower(scene, record_property):
    """A hostile lender, whose device is borrowed now and then."""
    measured = Measured(scene.guest)

    def session():
        scene.attacker.open()
        lender = Lender(scene.attacker)
        handles = []
        if scene.rng.random() < 0.3:
            lender.changes[scene.rng.choice(("BORROW", "ATTACH", "PROBE", "CONFIG"))] = spoil(scene.rng)
        if scene.rng.random() < 0.5 and scene.borrow(lender) == 0:
            handles = [lender.handle]
        return Attacks(scene.rng, scene.attacker, "borrower", scene.host, handles, [lender.offer.id], scene.recorded)
    said = attack(scene, "borrower", session, MESSAGES)
    measured.check(record_property, "against the borrower", said)
    scene.normal_again()


def device_state(guest, bdf):
    return guest.text(f"cat {lending.BUS}/lent-{bdf}/state; od -An -tx1 -v /sys/bus/pci/devices/{bdf}/config")


def refused(channel, op, payload, handle, status):
    """A call, and with what it must be refused."""
    reply = channel.call(op, payload, handle)
    assert (op, wire.STATUS[reply.status], reply.payload) == (op, status, b"")


def foreign_handles(grant, attacker):
    """Handles by which a peer could try to reach another's lease: the very one, and mixtures with its own session."""
    epoch, number = grant.handle
    return [grant.handle, (attacker.peer, number), (attacker.epoch, number), (0, number), (epoch, 0),
            (epoch, number ^ 1)]


def test_lease_of_another_borrower(scene):
    """Each call and each operation of lane 2 by the handle of a lease that another peer holds."""
    attacker, guest = scene.attacker, scene.guest
    attacker.open()
    mine, theirs = scene.devices
    before = device_state(guest, theirs)
    own = Borrower(attacker).borrow(Borrower(attacker).offers(1)[0])
    maps = Borrower.maps()
    for handle in foreign_handles(scene.grant, attacker):
        refused(attacker, "CONFIG", b"", handle, "STALE")
        refused(attacker, "ATTACH", maps, handle, "STALE")
        for kind, offset in ((wire.PROBE_MEMORY, 0x1000), (wire.PROBE_BAR, 0x2008), (wire.PROBE_MSI, 0)):
            refused(attacker, "PROBE", wire.probe(kind, 0, offset, 1), handle, "STALE")
        refused(attacker, "RETURN", b"", handle, "STALE")
        for op in wire.AOP:
            # as the lease that is its own it would be done
            assert (op, attacker.atomic(op, handle[1], 0)) == (op, "STALE")
    refused(attacker, "BORROW", wire.borrow(scene.theirs, attacker.host), (0, 0), "BUSY")
    refused(attacker, "BORROW", wire.borrow(scene.theirs, scene.honest.host), (0, 0), "PERM")
    assert device_state(guest, theirs) == before
    assert attacker.atomic("BUS_MASTER", own.handle[1], 0) == "OK"
    Borrower(attacker).give_back(own)
    lending.wait_state(guest, f"lent-{mine}", "offered")
    scene.normal_again()


def test_windows_without_lease(scene):
    """Nothing of the host is reached through the windows before a lease and after it."""
    attacker = scene.attacker.open()
    borrower = Borrower(attacker)

    def reached():
        return [(window, at) for window, size in ((0, 64 << 20), (1, 4 << 30))
                for at in (0, 0x1000, size // 2, size - 64)
                if attacker.puppet.mem_read(window, at, 64) != b"\xff" * 64]
    assert not reached()
    grant = borrower.borrow(borrower.offers(1)[0])
    _, size, at, window, _ = grant.bars[0]
    assert attacker.puppet.mem_read(window, at, 64) != b"\xff" * 64
    # the window ends where the device's registers do
    assert attacker.puppet.mem_read(window, at + size, 64) == b"\xff" * 64
    borrower.give_back(grant)
    assert not reached()


def test_lease_and_offer_of_another_lender(scene):
    """The guest has borrowed from the honest peer: even by that one's name the attacker ends and changes nothing."""
    attacker, honest, guest = scene.attacker, scene.honest, scene.guest
    lender = Lender(honest)
    assert lender.tell() == wire.OK
    name = next(n for n in lending.names(guest, "offer") if n.startswith(f"offer-{honest.host.hex[:8]}"))
    job = guest.spawn(f"echo auto > {lending.BUS}/{name}/borrow")
    job.send(b"")
    honest.pump(lambda: job.done)
    assert job.wait().rc == 0
    (lease,) = lending.names(guest, "lease")
    name_before = attacker.host
    for host in (name_before, honest.host):
        attacker.open(host=host)
        for handle in (lender.handle, (attacker.epoch, lender.random), (attacker.peer, lender.random)):
            for grace in (0, 1000):
                refused(attacker, "REVOKE", struct.pack("<II", 1, grace), handle, "STALE")
            for status in (0, 7):
                refused(attacker, "RESET_DONE", struct.pack("<I", status), handle, "STALE")
        refused(attacker, "WITHDRAW", lender.offer.id.pack(), (0, 0), "NOENT")
        changed = wire.Offer(lender.offer.id, wire.QUARANTINED)
        attacker.call("OFFER", changed.pack())
        for txid in range(1, 100):
            attacker.send(wire.Message(wire.OP["RETURN"], wire.REPLY, txid=txid, handle=lender.handle))
        assert lending.names(guest, "lease") == [lease]
        assert guest.read(f"{lending.BUS}/{name}/state") == "available"
        assert guest.read(f"{lending.BUS}/{lease}/state") == "active"
    attacker.open(host=name_before)
    assert lender.told[-1] != "RETURN"
    job = guest.spawn(f"echo 1 > {lending.BUS}/{lease}/return")
    job.send(b"")
    honest.pump(lambda: job.done)
    assert job.wait().rc == 0 and lender.told[-1] == "RETURN"
    assert lender.withdraw() == wire.OK


def changed_grant(change):
    def answer(status, payload):
        grant = wire.Grant.unpack(payload)
        change(grant)
        return status, grant.pack()
    return answer


LIES = ([("BORROW", name, changed_grant(change)) for name, change in GRANTS.items()]
        + [("BORROW", "shorter", lambda status, payload: (status, payload[:-4])),
           ("BORROW", "longer", lambda status, payload: (status, payload + bytes(4))),
           ("BORROW", "unknown status", lambda status, payload: (15, b""))]
        + [("CONFIG", name, lambda status, payload, text=text: (status, text)) for name, text in CONFIGS.items()]
        + [("ATTACH", name, lambda status, payload, change=change: (status, change(payload)))
           for name, change in ATTACHES.items()]
        + [("PROBE", "shorter", lambda status, payload: (status, payload[:-4]))])
# of a lender that is asked to take the interrupts and tell them
LIES_OF_EVENTS = ([("EVENTS", name, lambda status, payload, text=text: (status, text)) for name, text in TAKEN.items()]
                  + [("EVENTS", "not known", lambda status, payload: (wire.STATUS.index("NOTSUPP"), b""))])


def test_borrow_from_a_liar(scene):
    """Grants, config spaces and addresses that cannot be: refused, nothing is left, what was granted is returned."""
    attacker = scene.attacker.open()
    lender = Lender(attacker)
    # two BARs, so that they can be in each other's way
    lender.offer.bars[2] = (0x4000, wire.BAR_64)
    assert lender.tell() == wire.OK
    offer = f"{lending.BUS}/{scene.offer()}"
    taken = []
    for mode, lies in (("auto", LIES), ("doorbell", LIES_OF_EVENTS)):
        lending.must_write(scene.guest, f"{offer}/irq_mode", mode)
        for op, name, change in lies:
            lender.changes, lender.told = {op: change}, []
            if scene.write(f"{offer}/borrow", "auto") == 0:
                taken.append((op, name))
                scene.give_back()
            # a grant by which nothing can be named cannot be returned either
            if op != "BORROW":
                assert (op, name, lender.told[-1]) == (op, name, "RETURN")
        lender.changes = {}
        assert scene.write(f"{offer}/borrow", "auto") == 0
        if mode == "doorbell":
            # events of interrupts that nobody has asked for, and of such as are none
            for event in (0, 1, 4, 2, 1):
                lender.ring(event)
        assert scene.give_back() == 0
    assert not taken
    assert lending.names(scene.guest, "lease") == []
    assert lender.withdraw() == wire.OK


def test_a_peer_stays_who_it_is(scene):
    """In a session: what was offered and lent in it is that host's."""
    attacker = scene.attacker.open()
    refused(attacker, "HELLO", wire.hello(scene.honest.host, attacker.peer), (0, 0), "PERM")
    assert attacker.call("HELLO", wire.hello(attacker.host, attacker.peer)).status == wire.OK
    scene.normal_again()
