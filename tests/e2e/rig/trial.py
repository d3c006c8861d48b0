# SPDX-License-Identifier: GPL-2.0
"""tests/rig/try: boot the pair, run commands on either guest, show what happened.

    tests/rig/try --lender 'lspci' --borrower 'dmesg | tail' --both 'lsmod'
    tests/rig/try --build --kernel checking --load --both 'dmesg | grep devlend'
    tests/rig/try                       # an interactive prompt

Commands run in the order they are given. The exit status is 0 if all of them ended with 0
and neither kernel complained.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import paths
from .agent import GuestGone
from .guest import Nvme
from .ntbsim import walk
from .pair import DEVICE_BDF, NTB_BDF, NTB_MODULES, Pair
from .process import clean_up_on_signals

OWN = ("devlend_core", "devlend_lender", "devlend_borrower")

HELP = """Commands: "l CMD" runs on the lender, "b CMD" on the borrower, "a CMD" on both;
lines without a prefix go to the guest of the last one.
  counters   what ntbsim has counted        reset    set the counts to 0
  link up|down                              kill l|b, restart l|b
  console l|b  the end of a console         quit
"""


class InOrder(argparse.Action):
    """Collects commands of several options in the order of the command line."""

    def __call__(self, parser, namespace, value, option_string=None):
        namespace.commands.append((self.const or self.dest, value))


def arguments(argv):
    ap = argparse.ArgumentParser(prog="tests/rig/try", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.set_defaults(commands=[])
    for dest, what in (("lender", "run on the lender"), ("borrower", "run on the borrower"),
                       ("both", "run on both, lender first")):
        ap.add_argument(f"--{dest}", metavar="CMD", action=InOrder, default=argparse.SUPPRESS, help=what)
    ap.add_argument("--kernel", default="6.12", help="6.1, 6.12 (default), 7.x or checking")
    ap.add_argument("--build", action="store_true", help="build the project's modules for that kernel first")
    ap.add_argument("--load", action="store_true", help="load the project's three modules on both")
    ap.add_argument("--modprobe", default="nvme,ext4", help="more modules to load at boot (default: %(default)s)")
    ap.add_argument("--no-ntb", action="store_true", help="two guests without the simulator")
    ap.add_argument("--smp", type=int, default=1, help="CPUs of each guest")
    ap.add_argument("--memory", type=int, default=512, help="MiB of each guest")
    ap.add_argument("--append", default="", help="more of the kernels' command line")
    ap.add_argument("--device", action="append", default=[], metavar="ARGS",
                    help="QEMU -device arguments of what the lender has, instead of an NVMe drive; repeatable")
    ap.add_argument("--windows", default="64M,4G", help="sizes of the windows of BAR 2 and 4 (default: %(default)s)")
    ap.add_argument("--fast", action="store_true", help="map the second window straight onto memory")
    ap.add_argument("--timeout", type=float, default=120, help="seconds that one command may take")
    ap.add_argument("--consoles", action="store_true", help="print both consoles at the end")
    ap.add_argument("--keep-going", action="store_true", help="go on after a command failed")
    ap.add_argument("--counters", action="store_true", help="print ntbsim's counters at the end")
    return ap.parse_args(argv)


def run_on(guest, cmd, timeout, show_name=True):
    """Run, print, return the status."""
    if show_name:
        print(f"== {guest.name}$ {cmd}", flush=True)
    try:
        result = guest.run(cmd, timeout=timeout, check=False)
    except (GuestGone, TimeoutError) as e:
        print(f"!! {e}\n{guest.console.tail(40)}", flush=True)
        return 1
    sys.stdout.write(result.out + result.err)
    if (result.out + result.err) and not (result.out + result.err).endswith("\n"):
        print()
    if result.rc:
        print(f"   (status {result.rc})")
    sys.stdout.flush()
    return result.rc


def print_counters(ntbsim):
    """What each port's guest sent out; what came in is what the other one sent."""
    for where, n in walk(ntbsim.counters()):
        if n and ".in." not in where:
            print(f"   {where} = {n}")


def interactive(pair, timeout):
    names = {"l": [pair.lender], "b": [pair.borrower], "a": pair.guests}
    names |= {"lender": names["l"], "borrower": names["b"], "both": names["a"]}
    current = names["l"]
    print(HELP)
    while True:
        try:
            line = input(f"{'+'.join(g.name for g in current)}> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        first, _, rest = line.partition(" ")
        if first in ("quit", "exit"):
            return
        try:
            if first in names:
                current = names[first]
                for guest in current if rest else ():
                    run_on(guest, rest, timeout, show_name=len(current) > 1)
            elif first == "counters":
                print_counters(pair.ntbsim)
            elif first == "reset":
                pair.ntbsim.reset_counters()
            elif first == "link":
                pair.ntbsim.link(rest == "up")
            elif first in ("kill", "restart", "console") and rest in names:
                for guest in names[rest]:
                    print(guest.console.tail() if first == "console" else getattr(guest, first)() and "up" or "done")
            elif first == "help":
                print(HELP)
            elif line:
                for guest in current:
                    run_on(guest, line, timeout, show_name=len(current) > 1)
        except Exception as e:  # pylint: disable=broad-except # a prompt survives mistakes
            print(f"!! {e}")


def new_run_dir(keep=10):
    """A folder for logs; old ones go."""
    base = paths.BUILD / "rig"
    base.mkdir(parents=True, exist_ok=True)
    for old in sorted(base.glob("try-*"), key=lambda p: p.stat().st_mtime)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="try-", dir=base))


def load_own(pair):
    for guest in pair.guests:
        have = [m for m in OWN if any(p.stem == m for p in guest.kernel.built_modules)]
        if not have:
            raise paths.SetupMissing(f"no modules for {guest.kernel.name}: use --build")
        guest.modprobe(*have)


def session(args, pair):
    """All that happens between boot and end; the exit status."""
    status = 0
    if args.load:
        load_own(pair)
    if not args.commands and not args.counters and not args.consoles:
        interactive(pair, args.timeout)
    for where, cmd in args.commands:
        for guest in pair.guests if where == "both" else [getattr(pair, where)]:
            status = run_on(guest, cmd, args.timeout) and 1 or status
        if status and not args.keep_going:
            break
    if args.counters:
        print("== ntbsim counters")
        print_counters(pair.ntbsim)
    return status


def main(argv=None):
    args = arguments(argv)
    clean_up_on_signals()
    if args.build:
        if subprocess.run([paths.TOP / "tests/rig/build-modules.sh", args.kernel], check=False).returncode:
            return 2
        if not args.no_ntb:
            subprocess.run(["make", "-s", "-C", str(paths.TOP / "tools/ntbsim")], check=True)
    small, large = args.windows.split(",")
    windows = [{"bar": 2, "size": small, "fast": False}, {"bar": 4, "size": large, "fast": False}]
    own_devices = args.device or [Nvme()]
    run_dir = new_run_dir()
    extra = tuple(m for m in args.modprobe.split(",") if m)
    pair = Pair(run_dir, devices=own_devices, windows=windows, ntb=not args.no_ntb, fast=args.fast, kernel=args.kernel, smp=args.smp,
                memory=args.memory, append=args.append, modules=NTB_MODULES + extra)
    started = time.monotonic()
    status = 1
    try:
        pair.start()
        print(f"== two guests up after {time.monotonic() - started:.1f} s, kernel {pair.lender.kernel.release}, NTB {NTB_BDF},"
              f" device {DEVICE_BDF}, logs {run_dir}", flush=True)
        status = session(args, pair)
        for finding in pair.check():
            print(f"!! {finding}")
            status = 1
    except KeyboardInterrupt:
        status = 130
    except (paths.SetupMissing, RuntimeError, OSError, GuestGone) as e:
        print(f"!! {e}")
    finally:
        for guest in pair.guests:
            if args.consoles or (status and not guest.running):
                print(f"== console of {guest.name}\n{guest.console.tail(2000 if args.consoles else 60)}")
        pair.stop()
        for path in run_dir.glob("*.img"):
            path.unlink()
    return status
