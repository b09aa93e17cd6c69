"""A gate as JUnit XML, which GitLab, Jenkins and GitHub's actions for test reports read."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from heldout.gates.gate import Gate
from heldout.show.escape import visible

# What XML 1.0 cannot hold in any form, also not as a reference; `visible` spells out all but the last two.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "heldout check"


def junit_xml(gate: Gate) -> str:
    """The XML: a test case for each requirement, with a failure where the gate fails by it."""
    failing = sum(one.fails for one in gate.requirements)
    counts = {"tests": str(len(gate.requirements)), "failures": str(failing), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": SUITE, **counts, "time": "0"})
    suite = ET.SubElement(root, "testsuite", {"name": allowed(gate.name) or SUITE, **counts, "time": "0"})
    for one in gate.requirements:
        case = ET.SubElement(
            suite, "testcase", {"classname": "heldout.check", "name": allowed(one.text), "time": "0"}
        )  # fmt: skip
        why = allowed(one.why)
        if one.fails:
            ET.SubElement(case, "failure", {"message": f"{one.outcome}: {why}", "type": one.outcome}).text = why
        else:
            # Undecided is no failure, but whoever reads the report must see it.
            ET.SubElement(case, "system-out").text = f"{one.outcome}: {why}"
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def allowed(text: str) -> str:
    r"""The text without what XML forbids, spelled out.

    >>> print(allowed("a\x00b\ufffe"))
    a\x00b\ufffe
    """
    return FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))
