# SPDX-License-Identifier: GPL-2.0
"""The tool's manual page and completions say what its --help says: each verb, each option."""

import os
import re
import shutil
import subprocess

import pytest
from rig import paths

from fake_host import PEER, FakeHost

TOOL = paths.TOP / "tools/devlend"
BINARY = paths.BUILD / "tool/devlend"
BASH = TOOL / "completion/devlend.bash"
ZSH = TOOL / "completion/_devlend"


@pytest.fixture(scope="module")
def helps():
    """{verb: its long options, from --help}."""
    subprocess.run(["make", "-s", "-C", TOOL], check=True)

    def text(*argv):
        return subprocess.run([BINARY, *argv, "--help"], check=True, capture_output=True, text=True).stdout
    verbs = re.findall(r"^  (\w+) +[A-Z]", text(), re.M)
    return {verb: set(re.findall(r"--[a-z-]+", text(verb).split("Mandatory")[0])) for verb in verbs}


def test_verbs(helps):
    """Each source file of a verb is a verb; its line in --help does not wrap."""
    assert set(helps) == {path.stem[len("verb_"):] for path in TOOL.glob("verb_*.c")}
    text = subprocess.run([BINARY, "--help"], check=True, capture_output=True, text=True).stdout
    assert len(re.findall(r"^  [a-z]+ .*\.$|^  [a-z]+ .*\?$", text, re.M)) == len(helps), text


def test_manual_page(helps, command):
    page = (TOOL / "devlend.8").read_text()
    said = set(re.findall(r"--[a-z-]+", page.replace("\\-", "-")))
    for verb, options in helps.items():
        assert f"\n.TP\n.B {verb}\n" in page, verb
        assert not options - said, verb
    assert not said - set().union(*helps.values())
    plain = re.sub(r"\\f[BIR]", "", page.replace("\\-", "-")).replace('"', "")
    for verb in helps:
        text = subprocess.run([BINARY, verb, "--help"], check=True, capture_output=True, text=True).stdout
        for short, long in re.findall(r"^  (-.), (--[a-z-]+)", text, re.M):
            assert re.search(rf"{re.escape(short)} *, *{long}\b", plain), (verb, short)
    done = command("groff", "-man", "-Tutf8", "-ww", "-z", TOOL / "devlend.8")
    assert done.returncode == 0 and not done.stdout


def complete(host, line):
    """What bash offers for a line that ends at the cursor."""
    script = f'source {BASH}; COMP_LINE=$1; COMP_POINT=${{#1}}; read -ra COMP_WORDS <<<"${{1//:/ : }}"; ' \
             '[[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _devlend; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", line], check=True, capture_output=True, text=True,
                          env=dict(os.environ, DEVLEND_SYSROOT=str(host.root)))
    assert not done.stderr
    return set(done.stdout.split())


def test_bash_completion(helps, tmp_path):
    host = FakeHost(tmp_path / "host").modules()
    host.link()
    host.drive("0000:00:06.0")
    host.drive("0000:00:08.0", "nvme2", 16)
    host.lent("0000:00:08.0", "borrowed", PEER)
    offer = host.offer()
    host.lease(offer)
    assert complete(host, "devlend ") == set(helps)
    assert complete(host, "devlend re") == {"reclaim", "return"}
    for verb, options in helps.items():
        assert complete(host, f"devlend {verb} --") == options, verb
    assert complete(host, "devlend --json lend ") == {"0000:00:06.0"}
    assert complete(host, "devlend lend 0000:00:0") == {"06.0"}
    assert complete(host, "devlend reclaim ") == {"0000:00:08.0"}
    assert complete(host, "devlend borrow off") == {offer}
    assert complete(host, "devlend return ") == {"lease-8000"}
    assert complete(host, "devlend show l") == {"link0", "lease-8000"}
    assert "class=" in complete(host, "devlend lend --filter ")
    assert complete(host, "devlend config ") == {"check", "apply"}
    for line in ("devlend config check ", "devlend --sysroot "):
        assert str(host.root) in complete(host, f"{line}{str(host.root)[:-1]}"), line


def test_zsh_completion(helps):
    """It parses, where there is a zsh, and names each verb and option."""
    text = ZSH.read_text()
    zsh = shutil.which("zsh")
    if zsh:
        subprocess.run([zsh, "-n", ZSH], check=True)
    elif (paths.CHROOT / "usr/bin/zsh").exists():
        subprocess.run(["chroot", paths.CHROOT, "zsh", "-n", "-s"], input=text, check=True, text=True)
    lists = {f"${name}": value for name, value in re.findall(r"^\t(\w+)=\((.*)\)$", text, re.M)}
    for verb, options in helps.items():
        assert f"'{verb}:" in text, verb
        spec, = re.findall(rf"^\t\t{verb}\) _arguments (.*) ;;$", text, re.M)
        spec = re.sub(r"\$\w+", lambda name: lists[name.group()], re.sub(r"\[[^\]]*\]", "", spec))
        assert set(re.findall(r"--[a-z-]*[a-z]", re.sub(r"\[[^\]]*\]", "", spec))) == options, verb
