# SPDX-License-Identifier: GPL-2.0
"""KUnit: which cases the sources have, and what a kernel log says of them."""

import re

_STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[[^\]]*\])? ?")
_SUBTEST = re.compile(r"^ +# Subtest: (\S+)$")
_RESULT = re.compile(r"^ +(ok|not ok) \d+ (?:- )?(\S+)(.*)$")


def cases_in_sources(folder):
    """All (suite, case) of the *_test.c files in a folder; a file has one suite."""
    found = []
    for path in sorted(folder.glob("*_test.c")):
        text = path.read_text()
        suites = re.findall(r"struct kunit_suite \w+ = \{[^}]*?\.name = \"([^\"]+)\"", text)
        cases = re.findall(r"\bKUNIT_CASE(?:_PARAM|_SLOW)?\((\w+)", text)
        assert len(suites) == 1 and cases, f"{path.name}: one suite with cases is expected"
        found += [(suites[0], case) for case in cases]
    return found


def results_in_log(text):
    """{(suite, case): (passed, lines)} of a kernel log; the lines are what the case printed."""
    found, suite, said = {}, None, []
    for raw in text.splitlines():
        line = _STAMP.sub("", raw)
        begins, result = _SUBTEST.match(line), _RESULT.match(line)
        if begins:
            suite, said = begins.group(1), []
        elif result and suite:
            skipped = "SKIP" in result.group(3)
            found[suite, result.group(2)] = (result.group(1) == "ok" and not skipped, said + [line])
            said = []
        else:
            said.append(line)
    return found
