# SPDX-License-Identifier: GPL-2.0
"""Documentation/troubleshooting.rst has each message by which the modules warn or refuse, and none that there is not."""

import re

from rig import paths

PAGE = (paths.TOP / "Documentation/troubleshooting.rst").read_text()
ABI = "".join(path.read_text() for path in (paths.TOP / "Documentation/ABI/testing").iterdir())
MODULES = [path for folder in ("common", "lender", "borrower") for path in sorted((paths.TOP / folder).glob("*.[ch]"))]
TOOL = sorted((paths.TOP / "tools/devlend").glob("*.c"))
CALL = re.compile(r"\b(?:pr|dev|pci)_(?:emerg|alert|crit|err|warn|notice)(?:_once|_ratelimited)?\(")
STRING = r'"((?:[^"\\]|\\.)*)"'
CONVERSION = re.compile(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z)?(?:p[A-Za-z]*|[a-zA-Z])")
# messages that have no row of their own, and why
EXCEPTIONS = {
    "not lent: <> (<>)": "each of its reasons has a row, see reasons()",
}
# so much of a message must be in its row, where it does not end before
SHOWN = 40


def plain(text):
    """A format string as the page writes it."""
    return CONVERSION.sub("<>", text.encode().decode("unicode_escape").replace("%%", "%")).strip()


def said_by(text):
    """The messages of a source: the first string of each call, its parts joined."""
    for call in CALL.finditer(text):
        parts = re.match(rf"[^\"]*?((?:\s*{STRING})+)", text[call.end():])
        yield plain("".join(re.findall(STRING, parts.group(1))))


def reasons():
    """What follows "not lent: "."""
    check, lend = ((paths.TOP / "lender" / name).read_text() for name in ("check.c", "lend.c"))
    found = re.findall(rf"check_refuse\(pdev, -\w+,\s*{STRING}", check)
    found += [text.replace('" LENDER_DRIVER_NAME', "devlend_lender")
              for text in re.findall(r'step = "(.*?)"?;', lend)]
    found += re.search(rf"err == -EBUSY \? {STRING} : {STRING}", lend).groups()
    return {"not lent: " + plain(reason) for reason in found}


def messages():
    """All that must be on the page."""
    found = {message for path in MODULES for message in said_by(path.read_text())}
    assert len(found) > 80 and len(reasons()) > 12
    assert set(EXCEPTIONS) <= found
    return (found | reasons()) - set(EXCEPTIONS)


def rows(tool):
    """What the page's rows begin with: those of the last section, or of the others."""
    modules, sections = PAGE.split("\nErrnos\n=")
    text = sections if tool else modules
    return {re.sub(r" \.\.\.$", "", row) for line in re.findall(r"^(``.*)\n    \S", text, re.M)
            for row in re.findall(r"``(.+?)``", line)}


def row_fits(row, message):
    """A row may leave out a message's end, and the name before it."""
    at = message.find(row)
    return (at == 0 or message[:at] == "<> ") and (at + len(row) == len(message) or len(row) >= SHOWN)


def test_each_message_has_a_row():
    missing = {message for message in messages() if not any(row_fits(row, message) for row in rows(False))}
    assert not missing


def test_each_row_is_a_message():
    unknown = {row for row in rows(False) if not any(row_fits(row, message) for message in messages())}
    assert not unknown


def test_the_tools_rows():
    said = {plain(text) for path in TOOL for text in re.findall(STRING, path.read_text())}
    assert rows(True)
    assert not rows(True) - said


def errnos(text):
    """Those that it names."""
    return set(re.findall(r"\bE[A-Z0-9]{3,}\b", re.sub(r"\bDEVLEND_\w+", "", text)))


def test_the_tool_knows_each_errno():
    """But E2BIG: it does not write so many hosts."""
    kernel = (paths.TOP / "tools/devlend/kernel.c").read_text()
    answers = re.findall(r"^\t\{ (E[A-Z0-9]+), TOOL_", kernel, re.M)
    assert len(set(answers)) == len(answers) > 15
    assert errnos(ABI) - set(answers) == {"E2BIG"}


def test_each_errno_of_the_abi_is_explained():
    table = PAGE.split("\nErrnos\n=")[1].split("\nThe tool\n=")[0]
    explained = set(re.findall(r"\bE[A-Z0-9]{3,}\b", "".join(re.findall(r"^E.*?  ", table, re.M))))
    assert errnos(ABI) - explained == set()
