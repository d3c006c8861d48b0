# SPDX-License-Identifier: GPL-2.0
"""Hosts as operators have them: systemd is the first process, udev loads the drivers, the tool, its units and rules are
where "make install" puts them, and /etc/devlend.conf says what is lent and borrowed. A host comes up so at each boot."""

import subprocess

from rig import paths

RESTART = "reboot: Restarting system"
# what an operator whose hosts stall for seconds would write
PATIENCE = 'ACTION=="add", SUBSYSTEM=="devlend", KERNEL=="link*", ATTR{{beat_timeout_ms}}="{}"\n'


def tree(name, conf, beat_timeout_ms):
    """A folder to lie over a guest's root (rig.Guest), with that /etc/devlend.conf."""
    root = paths.BUILD / "system" / name
    subprocess.run(["rm", "-rf", root], check=True)
    subprocess.run([paths.TOP / "tests/rig/build-tool.sh", "install", f"DESTDIR={root}", "PREFIX=/opt/devlend",
                    "UNITDIR=/etc/systemd/system", "RULESDIR=/etc/udev/rules.d"], check=True)
    etc = root / "etc"
    (etc / "devlend.conf").write_text(conf)
    (etc / "udev/rules.d/91-patience.rules").write_text(PATIENCE.format(beat_timeout_ms))
    # not this host's first boot, for which systemd would choose what is enabled
    (etc / "machine-id").write_text(f"{name.encode().hex():0<32.32}\n")
    wants = etc / "systemd/system/multi-user.target.wants"
    wants.mkdir()
    (wants / "devlend.service").symlink_to("../devlend.service")
    return root


def reboot(guests, command="systemctl reboot"):
    """Have guests reboot at the same time, and wait until they are there again; return what each one's console said
    until the restart."""
    before = [(guest, len(guest.console.text), guest.agent.hellos) for guest in guests]
    for guest in guests:
        guest.qmp.command("set-action", reboot="reset")
    for guest in guests:
        guest.spawn(command).send(b"")
    said = []
    for guest, start, _ in before:
        guest.console.wait_for(RESTART, 120, start)
        said.append(guest.console.text[start:guest.console.text.index(RESTART, start)])
    for guest, _, boots in before:
        guest.agent.wait_hello(boots + 1, 120)
    return said
