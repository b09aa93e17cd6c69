"""Where Java is and whether Spark can run on it, or what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from heldout.errors import OptionError

# The oldest that Spark 4 runs on.
OLDEST = 17
# Starting a virtual machine takes a second or two; one that takes longer than this hangs.
PATIENCE = 60.0

INSTALL = (
    f"install Java {OLDEST} or newer: 'apt-get install openjdk-{OLDEST}-jre-headless' on Debian, "
    f"'brew install openjdk@{OLDEST}' on macOS, 'conda install -c conda-forge openjdk={OLDEST}' with conda; "
    "where it is installed already, set JAVA_HOME to its folder."
)


def find_java() -> str:
    """The Java that Spark will start, once it is known to be new enough.

    Spark takes the one in JAVA_HOME where that is set, and the one on the path otherwise.
    """
    home = os.environ.get("JAVA_HOME")
    program = shutil.which(os.path.join(home, "bin", "java") if home else "java")  # noqa: PTH118 - which() wants text
    if program is None:
        where = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "none is on the path"
        raise OptionError(f"Spark needs Java, and {where}.", hint=INSTALL)
    said = _version_text(program)
    version = version_in(said)
    if version is None:
        words = " ".join(said.split())[:200] or "nothing"
        raise OptionError(f"Spark needs Java, and {program} does not say which it is: {words}.", hint=INSTALL)
    if version < OLDEST:
        raise OptionError(f"Spark needs Java {OLDEST} or newer, and {program} is Java {version}.", hint=INSTALL)
    return program


def version_in(text: str) -> int | None:
    """The number of the Java version in what `java -version` says, before version 9 the second one.

    >>> version_in('openjdk version "17.0.15" 2025-04-15'), version_in('java version "1.8.0_292"'), version_in("no")
    (17, 8, None)
    """
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[2] or 0)
    return second if first == 1 else first


def _version_text(program: str) -> str:
    try:
        told = subprocess.run(  # noqa: S603 - the program that Spark itself would start
            [program, "-version"], capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return told.stderr + told.stdout
