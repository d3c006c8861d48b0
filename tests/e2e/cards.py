# SPDX-License-Identifier: GPL-2.0
"""Network cards in guests: an address, and traffic that is counted."""

import json

import lending

SENT = 256 << 10
WINDOW = 32 << 10	# that all was sent means that most of it has arrived


def card_of(guest, bdf, address):
    """A card's interface, up, with an address."""
    folder = f"/sys/bus/pci/devices/{bdf}/"
    find = f"find {folder} -maxdepth 3 -path '*/net/*' -prune -print"
    lending.wait(guest, f'[ -n "$({find})" ]', what=f"a network interface of {bdf}")
    name = guest.text(find).rsplit("/", 1)[-1]
    guest.run(f"ip addr add {address}/24 dev {name}; ip link set {name} up", timeout=90)
    lending.wait(guest, f'[ "$(cat /sys/class/net/{name}/carrier)" = 1 ]', what=f"carrier of {name}")
    return name


def iperf(server, client, address):
    """Traffic each way. It ends when all was sent, and what is on the way then it does not count: see transfer()."""
    for option in ("", "--reverse"):
        job = server.spawn("exec iperf3 --server --one-off --forceflush")
        job.wait_output("Server listening")
        out = client.text(f"iperf3 --client {address} --bytes {SENT} --window {WINDOW} --json {option}", timeout=240)
        end = json.loads(out)["end"]
        assert end["sum_sent"]["bytes"] >= SENT and end["sum_received"]["bytes"] > 0, end
        job.wait(60)


def transfer(server, client, address, data):
    """Bytes from the client's card to the server's, every one compared."""
    job = server.spawn("echo listening; exec busybox nc -l -p 5001 > /tmp/got")
    job.wait_output("listening")
    lending.wait(server, "grep -q ':1389 .* 0A ' /proc/net/tcp /proc/net/tcp6", what="the listener")
    client.run(f"busybox nc -w 60 {address} 5001", stdin=data, timeout=240)
    job.wait(240)
    got = server.pull("/tmp/got")
    wrong = [n for n, (byte, wanted) in enumerate(zip(got, data)) if byte != wanted]
    assert not wrong and len(got) == len(data), f"{len(got)} bytes of {len(data)}, wrong from {wrong[:1]} on"


def traffic(server, client, addresses, data):
    """Each way: a lot of it, and then bytes that are compared."""
    iperf(server, client, addresses[0])
    transfer(server, client, addresses[0], data)
    transfer(client, server, addresses[1], data[::-1])
