# SPDX-License-Identifier: GPL-2.0
"""One QEMU guest: started, driven and ended from here.

start() returns at once; wait_ready() waits for the agent, so that several guests boot at
the same time. kill() is a power cut, restart() the same machine booting again, reset()
the reset button. The console's text and the log files outlive all of them.
"""

import errno
import json
import os
import re
import uuid
from dataclasses import dataclass

from . import image, paths
from .agent import Agent, CommandFailed, GuestGone, Result
from .complaints import find_complaints
from .console import Console, listen
from .process import Child
from .qmp import Qmp

# Emulation on busy cores is slow in bursts: stalls are found, but later than by default. A kernel that moves itself
# at its start takes a second for it. What guards a processor against speculation costs an emulator a quarter of its time.
APPEND = "console=ttyS0 loglevel=7 panic=-1 rcupdate.rcu_cpu_stall_timeout=100 watchdog_thresh=50 nokaslr mitigations=off"
SYSTEMD = "rig.systemd systemd.default_standard_output=tty"
BOOT_TIMEOUT = {"checking": 360}
PATIENCE = {"checking": 6}	# and 3 for others
BOUNCE = 64 << 20
ERRNO_OF = {os.strerror(n): n for n in errno.errorcode}


def ntb_device(path, name, addr):
    """QEMU's argument for an NTB endpoint that a simulator serves."""
    return json.dumps({"driver": "vfio-user-pci", "id": name, "addr": addr, "x-msg-timeout": 60000,
                       "socket": {"type": "unix", "path": str(path)}})


@dataclass
class Nvme:
    """An NVMe controller of QEMU's with one raw image as its namespace. Shadow doorbells, which real drives have not, it
    goes on to read in memory that was taken from it: all-ones then make it run wild, and stall the whole machine for a
    minute, until the reset comes to its turn."""

    serial: str = "LENT0001"
    size: int = 64 << 20
    image: str = ""		# a path; empty: a new sparse one in the run's folder
    queues: int = 2
    shadow_doorbells: bool = False
    options: str = ""		# more properties of the device, "name=value,..."
    id: str = ""
    own: bool = False		# the image is of our making: each pair gets a new one

    def qemu_args(self, run_dir, name, addr):
        ident = self.id or self.serial.lower()
        if self.own or not self.image:
            self.own = True
            self.image = str(image.raw_image(run_dir / f"{name}-{ident}.img", self.size))
        path = self.image
        # What it reads or writes in a peer's memory goes through QEMU's bounce buffers. With the 4 KiB of those that there
        # are by default a larger request is mapped piece by piece, and one that bus mastering is taken from half way is
        # never ended: the reset that follows would wait for it, with the whole machine.
        device = (f"nvme,id={ident},serial={self.serial},drive={ident}-drive,addr={addr},"
                  f"max_ioqpairs={self.queues},msix_qsize={self.queues + 1},x-max-bounce-buffer-size={BOUNCE},"
                  f"dbcs={'on' if self.shadow_doorbells else 'off'}")
        if self.options:
            device += "," + self.options
        return ["-drive", f"if=none,id={ident}-drive,file={path},format=raw,cache=unsafe",
                "-device", device]


@dataclass
class WithDrives:
    """A QEMU -device string, further ones of what hangs on it, and the raw images that those name as their drives."""

    device: str
    drives: dict		# {id: bytes}
    below: tuple = ()

    def qemu_args(self, run_dir, name, addr):
        args = []
        for ident, size in self.drives.items():
            path = image.raw_image(run_dir / f"{name}-{ident}.img", size)
            args += ["-drive", f"if=none,id={ident},file={path},format=raw,cache=unsafe"]
        has_addr = "addr=" in self.device
        for device in (self.device if has_addr else f"{self.device},addr={addr}", *self.below):
            args += ["-device", device]
        return args


class Guest:
    """A machine. Devices are Nvme or WithDrives objects or QEMU -device strings, from slot 6 upwards;
    the NTB endpoint, where ntb_socket names a simulator's socket, is in slot 5.
    iommu: with a VT-d that also remaps interrupts; "amd": with AMD's. memory_file: what a peer's fast window maps. kmemleak: the checking kernel looks for
    leaks when asked to scan. tree: a function that makes a folder, which lies over the root at each
    boot; the first process is systemd then."""

    def __init__(self, name, run_dir, kernel="6.12", memory=512, smp=1, core=None, devices=(), ntb_socket=None,
                 modules=(), append="", machine="", with_modules=True, kmemleak=False, iommu=False, memory_file=None, extra_args=(), tree=None):
        self.name, self.run_dir, self.core = name, run_dir, core
        self.kernel = paths.kernel(kernel)
        self.memory, self.smp = memory, smp
        self.devices, self.ntb_socket = list(devices), ntb_socket
        self.modules, self.append, self.machine = tuple(modules), append, machine
        self.kmemleak, self.iommu = kmemleak, iommu
        self.with_modules, self.extra_args = with_modules, list(extra_args)
        self.memory_file, self.tree = memory_file, tree
        self.ntbs = 1 if ntb_socket else 0	# endpoints with another guest behind them
        self.console = Console(name, run_dir / f"{name}-console.log")
        self.process = self.agent = self.qmp = None
        self._device_args = None
        self._checked = 0
        self._marks = 0
        self._killed = False

    # Life

    def start(self):
        sockets = paths.socket_dir()
        self._killed = False
        try:
            ears = {what: listen(sockets / what) for what in ("console", "agent", "qmp")}
            self.process = Child(self._argv(sockets), self.run_dir / f"{self.name}-qemu.log", core=self.core,
                                 env=paths.qemu_environment())
            self.console.attach(self._accept(ears["console"]))
            self.agent = Agent(self.name, self._accept(ears["agent"]), PATIENCE.get(self.kernel.name, 3))
            self.qmp = Qmp(self._accept(ears["qmp"]))
        finally:
            for path in sockets.iterdir():
                path.unlink()
            sockets.rmdir()
        return self

    def wait_ready(self, timeout=None):
        timeout = timeout or BOOT_TIMEOUT.get(self.kernel.name, 240)
        self.agent.wait_hello(1, timeout)
        return self

    def kill(self):
        """A power cut."""
        if self.process:
            self._killed = True
            self.process.kill()
            self._hang_up()

    def stop(self):
        """The end of its use; nothing is synced."""
        self.kill()

    def restart(self, kernel=None):
        """Power cut and boot again, maybe another kernel."""
        self.kill()
        if kernel:
            self.kernel = paths.kernel(kernel)
        return self.start().wait_ready()

    def reset(self):
        """The reset button: memory and QEMU stay, the kernel starts anew."""
        before = self.agent.hellos
        self.qmp.command("set-action", reboot="reset")
        self.qmp.command("system_reset")
        self.agent.wait_hello(before + 1, BOOT_TIMEOUT.get(self.kernel.name, 240))

    @property
    def running(self):
        return bool(self.process and self.process.running)

    # Commands

    def spawn(self, cmd):
        """Start a command and return its Job."""
        return self.agent.start(cmd)

    def run(self, cmd, timeout=60, check=True, stdin=b""):
        """Run a shell command to its end. With check, a status other than 0 raises."""
        job = self.agent.start(cmd)
        if stdin:
            job.send(stdin)
        job.send(b"")
        result = job.wait(timeout)
        if check and result.rc:
            raise CommandFailed(f"{self.name}: {cmd}\n{result}")
        return result

    def text(self, cmd, timeout=60):
        """The standard output of a command that must succeed, without the last newline."""
        return self.run(cmd, timeout).out.rstrip("\n")

    def push(self, data, path, mode=0o644):
        """Bytes, or a host's file by its pathlib.Path, into a file of the guest."""
        data = data if isinstance(data, bytes) else data.read_bytes()
        self.run(f"cat > '{path}' && chmod {mode:o} '{path}'", stdin=data, timeout=120)

    def pull(self, path):
        """A file of the guest as bytes."""
        rc, out, err = self.agent.start(f"cat '{path}' </dev/null").wait_raw(120)
        if rc:
            raise CommandFailed(f"{self.name}: {err.decode(errors='replace')}")
        return out

    def read(self, path):
        """A small file, such as a sysfs attribute, without the last newline."""
        return self.text(f"cat '{path}'")

    def write(self, path, value, timeout=60):
        """One write(2) of value into a sysfs file: 0, or the errno that it gave."""
        data = value if isinstance(value, bytes) else value.encode()
        result = self.run(f"LC_ALL=C dd of='{path}' bs=1M count=1 iflag=fullblock conv=notrunc status=none",
                          timeout, check=False, stdin=data)
        if not result.rc:
            return 0
        message = result.err.strip().rsplit(": ", 1)[-1]
        return ERRNO_OF.get(message) or self._odd(path, result)

    def modprobe(self, *names):
        self.run("modprobe -a " + " ".join(names))

    def dmesg(self):
        return self.text("dmesg")

    # What the kernel complained about

    def mark(self, text):
        """Write a line into the kernel log and wait until the console has shown it: all
        that the kernel said before is then in console.text."""
        self._marks += 1
        line = f"rig: mark {self._marks}: {text}"
        start = len(self.console.text)
        self.agent.start(f"echo '{line}' >/dev/kmsg </dev/null").wait(30)
        self.console.wait_for(re.escape(line), 30 * self.agent.patience, start)

    def complaints(self, allow=()):
        """Complaints since the last call."""
        start, self._checked = self._checked, len(self.console.text)
        return find_complaints(self.console.text[start:self._checked], allow)

    def findings(self, allow=()):
        """All that is wrong with this guest since the last time, as a list of texts."""
        odd = []
        if self.running:
            try:
                self.mark("check")
            except GuestGone:
                self.process.wait(20)
            except TimeoutError as e:
                odd.append(f"does not answer: {e}")
        status = self.process.proc.poll() if self.process else None
        if status and not self._killed:
            odd.append(f"QEMU ended with status {status}: {self.process.log_text()[-1000:]}")
        return [f"{self.name}: {text}" for text in odd + self.complaints(allow)]

    # Inside

    def _argv(self, sockets):
        memory = f"memory-backend-memfd,id=m,size={self.memory}M,share=on"
        if self.memory_file:
            memory = f"memory-backend-file,id=m,size={self.memory}M,share=on,mem-path={self.memory_file}"
        machine = "q35,memory-backend=m" + ("," + self.machine if self.machine else "")
        append = f"{APPEND} rig.hostname={self.name} {self.append}"
        # It costs the checking kernel a third of its speed: for tests that scan.
        append += "" if self.kmemleak else " kmemleak=off"
        append += " intel_iommu=on" if self.iommu and self.iommu != "amd" else ""
        append += f" {SYSTEMD}" if self.tree else ""
        if self.modules:
            append += " rig.modules=" + ",".join(self.modules)
        argv = paths.qemu_command() + [
            "-name", self.name, "-uuid", str(uuid.uuid5(uuid.NAMESPACE_DNS, self.name)),
            "-accel", "tcg", "-cpu", "max,phys-bits=39", "-machine", machine, "-smp", str(self.smp), "-m", f"{self.memory}M",
            "-object", memory, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(self.kernel.image), "-initrd", str(self._initrd()),
            "-append", append]
        if self.iommu:
            # Before the devices behind it.
            argv += ["-device", "amd-iommu,intremap=on" if self.iommu == "amd" else "intel-iommu,intremap=on,caching-mode=on"]
        for what in ("console", "agent"):
            argv += ["-chardev", f"socket,id={what},path={sockets / what}"]
        argv += ["-serial", "chardev:console", "-qmp", f"unix:{sockets / 'qmp'}",
                 "-device", "virtio-serial-pci,addr=3", "-device", "virtserialport,chardev=agent,name=rig.agent"]
        argv += image.usr_disk()
        if self.ntb_socket:
            argv += ["-device", ntb_device(self.ntb_socket, "ntb0", "5")]
        return argv + self._devices() + self.extra_args

    def _initrd(self):
        shared = image.initrd(self.kernel, self.with_modules)
        return image.with_tree(shared, self.tree(), self.run_dir / f"{self.name}.initrd") if self.tree else shared

    def _devices(self):
        # Made once: a restart finds the same drives.
        if self._device_args is None:
            self._device_args = []
            for slot, device in enumerate(self.devices, 6):
                if not isinstance(device, str):
                    self._device_args += device.qemu_args(self.run_dir, self.name, f"{slot:x}")
                else:
                    has_addr = "addr=" in device
                    self._device_args += ["-device", device if has_addr else f"{device},addr={slot:x}"]
        return self._device_args

    def _accept(self, ear):
        """QEMU's connection; or the reason why it does not come, as QEMU put it."""
        ear.settimeout(0.2)
        with ear:
            for _ in range(150):
                try:
                    sock = ear.accept()[0]
                    sock.settimeout(None)
                    return sock
                except TimeoutError:
                    if not self.process.running:
                        break
        raise RuntimeError(f"{self.name}: QEMU did not start:\n{self.process.log_text()[-3000:]}")

    def _hang_up(self):
        # QEMU may have ended before it had both
        for line in (self.agent, self.qmp):
            if line:
                line.close()

    @staticmethod
    def _odd(path, result):
        raise CommandFailed(f"writing {path}: {result}")


__all__ = ["Guest", "Nvme", "Result", "WithDrives"]
