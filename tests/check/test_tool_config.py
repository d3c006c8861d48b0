# SPDX-License-Identifier: GPL-2.0
"""devlend config on fake hosts: what is wrong with a file, by line, and what applying it does, twice and in any order.

That leases come back after a reboot is shown by tests/e2e/test_system.py.
"""

import time

import pytest

from fake_host import BUS, DRIVER, PEER
from tool_host import (BUSY, CARD, DRIVE, IMPOSSIBLE, MODULES, NOT_FOUND, OFFERED, OK, USAGE, Running, built, devlend,
                       document, hold, host)

__all__ = ["built", "host"]	# fixtures
CONF = "etc/devlend.conf"
OTHER = "0badcafe-0042-3510-8058-b4c04f4d3532"


def apply(fake, text, *argv):
    """Write the file, apply it: (status, [what became of each line])."""
    fake.put(CONF, text)
    status, made = document(fake, "config", "apply", *argv)
    return status, [result["result"] for result in made["results"]]


@pytest.mark.parametrize("text, problems", [
    ("", []),
    ("# lend x\n\n\t# no\n", []),
    (f"lend {DRIVE}", []),
    (f"lend 3b:0.0 to any # it\nborrow\t{OFFERED}   from {PEER.upper()} slot 255\n", []),
    (f"lend {DRIVE} no-reset to {PEER},{OTHER}\nlend {CARD} to none\nborrow {DRIVE}\n", []),
    (f"borrow {OFFERED} from {PEER}\nborrow {OFFERED} from {OTHER}\n", []),
    ("lend\n", [(1, "lend what?")]),
    ("\nlend nvme0n1\n", [(2, "lspci -D")]),
    ("borrow 0000:3b:20.0", [(1, "borrow what?")]),
    (f"Lend {DRIVE}\nfrob\n", [(1, '"Lend" is neither'), (2, '"frob" is neither')]),
    (f"lend {DRIVE} slot 3", [(1, '"slot" is not expected')]),
    (f"lend {DRIVE} force", [(1, '"force" is not expected')]),
    (f"borrow {DRIVE} to any", [(1, '"to" is not expected')]),
    (f"lend {DRIVE} to", [(1, 'nothing follows "to"')]),
    (f"lend {DRIVE} to any to none", [(1, '"to" is not expected')]),
    (f"lend {DRIVE} to any,none", [(1, '"any" is not any'), (1, '"none" is not any')]),
    (f"lend {DRIVE} to {PEER},", [(1, "a comma too many")]),
    (f"lend {DRIVE} to {PEER[:-1]}", [(1, "UUID of a host")]),
    (f"lend {DRIVE} to " + ",".join([PEER] * 17), [(1, "more than 16 hosts")]),
    (f"borrow {DRIVE} from any", [(1, "UUID of a host")]),
    (f"borrow {DRIVE} slot 256", [(1, "from 0 to 255")]),
    (f"borrow {DRIVE} slot -1", [(1, "from 0 to 255")]),
    (f"borrow {DRIVE} slot 4294967296", [(1, "from 0 to 255")]),
    (f"borrow {DRIVE} slot 1\nborrow {OFFERED} slot 01", [(2, "slot 1 is in line 1 already")]),
    (f"lend {DRIVE}\n\nlend 00:06.0", [(3, f"{DRIVE} is in line 1 already")]),
    (f"borrow {OFFERED} from {PEER}\nborrow {OFFERED}", [(2, "is in line 1 already")]),
    (f"lend {DRIVE}\r\n", [(1, "byte 0x0d")]),
    (f"lend {DRIVE}\0\n", [(1, "byte 0x00")]),
    ("l" * 5000, [(1, "neither lend nor borrow")])])
def test_problems(host, text, problems):
    """Each with its line; a file with one is not applied."""
    host.put(CONF, text)
    said = devlend(host, "config", "check")
    lines = said.err.splitlines()
    assert len(lines) == len(problems) and said.status == (USAGE if problems else OK)
    for line, (number, part) in zip(lines, problems):
        assert line.startswith(f"devlend: /etc/devlend.conf:{number}: ") and part in line, line
    if problems:
        status, made = document(host, "config", "apply")
        assert (status, made["results"]) == (USAGE, [])
        assert [p["line"] for p in made["problems"]] == [number for number, _ in problems]
        assert not host.read(f"{DRIVER}/lend")


def test_no_file_and_no_action(host):
    said = devlend(host, "config", "check")
    assert said.status == NOT_FOUND and "/etc/devlend.conf: No such file" in said.line
    assert document(host, "config", "apply", "/etc/other.conf")[0] == NOT_FOUND
    for argv in ((), ("frob",), ("check", "a", "b")):
        said = devlend(host, "config", *argv)
        assert said.status == USAGE and "check or apply" in said.line
    host.put("etc/other.conf", f"lend {DRIVE}\n")
    assert devlend(host, "config", "check", "/etc/other.conf").out == "/etc/other.conf: no problem, 1 devices\n"


def test_apply_and_again(host):
    """What is missing is done; what is done is left as it is."""
    host.link()
    name = host.offer()
    text = f"lend {DRIVE} no-reset\nborrow {OFFERED} slot 7\n"
    assert apply(host, text, "--dry-run") == (OK, ["done", "done"])
    assert not host.read(f"{DRIVER}/lend") and not host.read(f"{BUS}/{name}/borrow")
    assert apply(host, text) == (OK, ["done", "done"])
    assert host.read(f"{DRIVER}/lend") == f"{DRIVE} force" and host.read(f"{BUS}/{name}/borrow") == "7"
    host.attributes(host.lent(DRIVE), allow="any")
    host.lease(name)
    host.put(f"{DRIVER}/lend", "")
    host.put(f"{BUS}/{name}/borrow", "")
    assert apply(host, text, "--automatic") == (OK, ["already", "already"])
    assert not host.read(f"{DRIVER}/lend") and not host.read(f"{BUS}/{name}/borrow")
    said = devlend(host, "config", "apply")
    assert said.out == f"lend {DRIVE}: lent\nborrow {OFFERED}: borrowed as 8000:00:00.0\n"


def test_lend_to_some(host):
    """Nobody has it before the list is there; the list follows the file, and is not written where it fits."""
    lend = hold(host, f"{DRIVER}/lend")
    host.put(CONF, f"lend {DRIVE} to {OTHER},{PEER}\n")
    run = Running(host, "config", "apply")
    lend(lambda: host.attributes(host.lent(DRIVE), allow="none"))
    said = run.end()
    assert said.status == OK and said.out == f"{DRIVE}: lent to the hosts of line 1\n", said.err
    assert host.read(f"{DRIVER}/lend") == f"{DRIVE} private"
    path = f"{BUS}/lent-{DRIVE}/allow"
    assert host.read(path) == f"{OTHER} {PEER}"
    host.put(path, f"{PEER}\n{OTHER}\n")
    assert apply(host, f"lend {DRIVE} to {OTHER.upper()},{PEER}") == (OK, ["already"])
    assert host.read(path) == f"{PEER}\n{OTHER}\n"
    for to, now in ((PEER, PEER), ("none", "none"), ("any", "any")):
        assert apply(host, f"lend {DRIVE} to {to}") == (OK, ["done"])
        assert host.read(path) == now


def test_what_has_to_come_first(host):
    """No failure: its event has it applied again."""
    host.link("down")
    late = "0000:00:09.0"
    text = f"lend {late}\nborrow {OFFERED}\n"
    assert apply(host, text) == (OK, ["waiting", "waiting"])
    host.offer(state="lent")
    assert apply(host, text) == (OK, ["waiting", "waiting"])
    host.lease(host.offer("0000:3c:00.0", "available"), state="dying")
    assert apply(host, "borrow 0000:3c:00.0") == (OK, ["waiting"])
    assert "lender went away" in devlend(host, "config", "apply").out


def test_failures(host):
    """Each is told, and does not keep the others from being done; the first is the exit status."""
    host.link()
    folder = host.lent("0000:00:08.0", "quarantined")
    host.attributes(folder, allow="any")
    name = host.offer()
    host.offer("0000:3c:00.0", "forbidden")
    host.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1p1 partition 1 0 -2\n")
    host.put("dev/nvme0n1p1", "")
    status, results = apply(host, f"borrow 0000:3c:00.0\nlend 0000:00:08.0\nborrow {OFFERED}\n")
    assert (status, results) == (IMPOSSIBLE, ["failed", "failed", "done"])
    assert host.read(f"{BUS}/{name}/borrow") == "auto"
    host.offer("0000:3d:00.0")
    host.offer("0000:3d:00.0", host=OTHER)
    assert apply(host, "borrow 0000:3d:00.0") == (USAGE, ["failed"])
    assert apply(host, f"borrow 0000:3d:00.0 from {OTHER}") == (OK, ["done"])
    host.card("0000:00:0a.0", "eth7", flags="0x1003")
    assert apply(host, "lend 0000:00:0a.0") == (BUSY, ["failed"])
    host.remove("sys/module/devlend_borrower")
    assert apply(host, f"borrow {OFFERED}") == (MODULES, ["failed"])


def test_given_back_by_hand(host):
    """It stays so while udev applies the file; not when an operator does."""
    host.link()
    name = host.offer()
    text = f"borrow {OFFERED}\nlend {DRIVE}\n"
    lease = host.lease(name)
    host.lent(DRIVE)
    assert devlend(host, "return", "--force", lease).status == OK
    assert devlend(host, "reclaim", DRIVE).status == OK
    for path in (f"{BUS}/{lease}", f"{BUS}/lent-{DRIVE}"):
        host.remove(path)
    assert apply(host, text, "--automatic") == (OK, ["held", "held"])
    assert not host.read(f"{BUS}/{name}/borrow") and not host.read(f"{DRIVER}/lend")
    assert "left alone until the next boot" in devlend(host, "config", "apply", "--automatic").out
    assert devlend(host, "borrow", name).status == OK
    assert apply(host, text, "--automatic") == (OK, ["done", "held"])
    assert apply(host, text) == (OK, ["done", "done"])
    assert apply(host, text, "--automatic") == (OK, ["done", "done"])


def test_one_at_a_time(host):
    """While one is at work, one more waits; others leave it to that one, and at the end all has been seen to."""
    write = hold(host, f"{DRIVER}/lend")
    host.put(CONF, f"lend {DRIVE}\n")
    first = Running(host, "config", "apply", "--automatic")
    seconds = []

    def more():
        host.put(CONF, f"lend {DRIVE}\nlend {CARD}\n")
        seconds.extend(Running(host, "config", "apply", "--automatic") for _ in range(3))
        while sum(run.process.poll() is not None for run in seconds) < 2:
            time.sleep(0.02)
        assert first.process.poll() is None
    write(more)
    assert first.end().out.count("lent (") == 1
    said = sorted(run.end().out.count("lent (") for run in seconds)
    assert said == [0, 0, 2]
