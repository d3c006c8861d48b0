# SPDX-License-Identifier: GPL-2.0
"""What a booted system has and a guest has not: udev with the project's rules, /etc/devlend.conf, and of systemd as
much as the rules ask for: "systemctl start" of a unit runs what its ExecStart says.

udev is the chroot's, started through its loader with its own libraries.
"""

import io
import re
import subprocess
import tarfile

from rig import paths

SYSTEM = paths.TOP / "tools/devlend/system"
TOOL = paths.BUILD / "tool-guest/devlend"
UDEV = "/run/system"
UDEVADM = f"/lib64/ld-linux-x86-64.so.2 --library-path {UDEV} --argv0 {{}} {UDEV}/udevadm"
SYSTEMCTL = "/usr/local/sbin/systemctl"
EXEC = re.compile(r"^ExecStart=@SBINDIR@/(.*)$", re.M)


def _udev():
    """An archive of udevadm and its libraries."""
    said = subprocess.run(["chroot", paths.CHROOT, "ldd", "/usr/bin/udevadm"], check=True, capture_output=True,
                          text=True).stdout
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for name in ["/usr/bin/udevadm", *re.findall(r"=> (/\S+)", said)]:
            path = (paths.CHROOT / name.lstrip("/")).resolve()
            tar.add(path, arcname=name.rsplit("/", 1)[-1])
    return archive.getvalue()


def start(guest, conf):
    """Boot the system in a guest, with that /etc/devlend.conf, as far as its kernel has booted already."""
    subprocess.run([paths.TOP / "tests/rig/build-tool.sh"], check=True)
    guest.push(TOOL, "/usr/local/sbin/devlend", mode=0o755)
    guest.run(f"mkdir -p {UDEV} /run/udev/rules.d && tar -x -C {UDEV}", stdin=_udev())
    command = EXEC.search((SYSTEM / "devlend-apply@.service.in").read_text()).group(1)
    guest.push(f"#!/bin/sh\ncase \"$*\" in\n*' start devlend-apply@'[0-9]*.service) ;;\n*) exit 1 ;;\nesac\n"
               f"setsid /usr/local/sbin/{command} </dev/null >>/run/applied 2>&1 &\n".encode(), SYSTEMCTL, mode=0o755)
    rules = (SYSTEM / "90-devlend.rules").read_text().replace("/usr/bin/systemctl", SYSTEMCTL)
    guest.push(rules.encode(), "/run/udev/rules.d/90-devlend.rules")
    guest.push(conf.encode(), "/etc/devlend.conf")
    guest.run(f"{UDEVADM.format('systemd-udevd')} --daemon </dev/null >/run/udevd 2>&1")
    udevadm = UDEVADM.format("udevadm")
    guest.run(f"{udevadm} trigger --type=subsystems --action=add; {udevadm} trigger --type=devices --action=add")


def stop(guest):
    """From here on nothing is applied by itself."""
    guest.run(f"rm /etc/devlend.conf; {UDEVADM.format('udevadm')} control --exit")
