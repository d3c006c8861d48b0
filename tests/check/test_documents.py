# SPDX-License-Identifier: GPL-2.0
"""What Documentation/ and README.md name is there: files of the tree; functions, locks, parameters of the code."""

import re
import subprocess

import pytest
from rig import paths

LISTED = subprocess.run(["git", "ls-files"], cwd=paths.TOP, check=True, capture_output=True, text=True).stdout.split()
TREE = [name for name in LISTED if (paths.TOP / name).is_file()]
PAGES = [name for name in TREE if name.startswith("Documentation/") or name.endswith("README.md")]
SOURCES = "".join((paths.TOP / name).read_text(errors="replace") for name in TREE
                  if re.search(r"\.([chs]h?|py|in|rules)$|/Makefile$|^Makefile$|/init$|devlend$|\.config$", name)
                  and name != "tests/check/test_documents.py")
FILE = re.compile(r"(?<![\w*/<>.-])([\w-]+(?:/[\w.-]+)*\.(?:py|c|h|rst|sh|md))\b")
# what a page quotes of the kernel, of NTB drivers and of other programs, and where it says so
FOREIGN_FILES = re.compile(r"^(drivers|include/linux|Documentation/(driver-api|admin-guide)|hw|intel|mscc|idt)/"
                           r"|^tools/testing/"
                           r"|^(ntb_hw_\w+|pci-epf-v?ntb|irqdomain_defs|ntb|io-cmd-\w+|configfs|multipath|ntb_test)\.")
FOREIGN_WORDS = set("""
    alloc_irq_index dma_alloc_noncontiguous dma_get_required_mask pci_release_regions ntb_peer_mw_set_trans pci_epc_set_bar
    max_mw_size b2b_mw_idx
    amd_ntb_mw_set_trans epf_ntb_configure_mw idt_ntb_peer_mw_set_trans intel_ntb3_mw_set_trans intel_ntb4_mw_set_trans
    mmio_peer_ctrl switchtec_ntb_init_sndev xeon_b2b_usd_addr xeon_setup_b2b_mw GEN3_EMBAR0 GEN3_SPCICMD XEON_PBAR23XLAT
    XEON_SBAR0BASE CONFIG_PCI_P2PDMA dma_set_mask ntb_bus""".split())


def in_sources(word):
    """Also behind CONFIG_."""
    return re.search(rf"(?:\b|CONFIG_){word}\b", SOURCES)


@pytest.mark.parametrize("page", PAGES)
def test_files(page):
    """By their path, or by their name alone."""
    names = {name.rsplit("/", 1)[-1] for name in TREE}
    named = set(FILE.findall((paths.TOP / page).read_text()))
    named = {name for name in named if name not in TREE and not FOREIGN_FILES.search(name)}
    assert not {name for name in named if "/" not in name and name not in names}
    assert not {name for name in named if "/" in name and not any(one.endswith("/" + name) for one in TREE)}


@pytest.mark.parametrize("page", PAGES)
def test_words(page):
    """Those between backquotes that can only be of code: with an underscore, or parentheses behind them."""
    quoted = re.findall(r"``([^`\n]+)``", (paths.TOP / page).read_text())
    words = {word.removesuffix("()") for word in quoted if re.fullmatch(r"[A-Za-z_]\w*_\w+(\(\))?|\w+\(\)", word)}
    assert not {word for word in words - FOREIGN_WORDS if not in_sources(word)}


def test_exceptions_are_needed():
    said = "".join((paths.TOP / page).read_text() for page in PAGES)
    assert not {word for word in FOREIGN_WORDS if word not in said or in_sources(word)}


def test_recorded_session():
    """README.md has a run of the demo: its steps in their order, and each tool's command of a step."""
    demo, readme = ((paths.TOP / name).read_text() for name in ("tests/e2e/demo.py", "README.md"))
    steps = re.findall(r'^ +step\("(.*)"\)$', demo, re.M)
    shown = re.findall(r"^    \[ *[\d.]+ s\] (.*)$", readme, re.M)
    assert len(shown) > 8 and [title for title in steps if title in shown] == sorted(shown, key=steps.index)
    ran = [re.escape(command).replace(r"\{bdf\}", r"[\w:.]+").replace(r"\{lease\}", r"lease-\d+")
           for command in re.findall(r'show\("\w+", \w+, f?"(devlend [^"]*)"', demo)]
    recorded = re.findall(r"^      (?:lender|borrower)# (devlend .*)$", readme, re.M)
    assert recorded and not {one for one in recorded if not any(re.fullmatch(command, one) for command in ran)}
    assert not {command for command in ran if not any(re.fullmatch(command, one) for one in recorded)}
