"""In the comparisons no name stands for two things."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from heldout import comparisons


def test_every_public_function_has_a_name_of_its_own():
    found = defaultdict(list)
    for file in sorted(Path(comparisons.__file__).parent.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.stem)
    assert len(found) > 100
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
