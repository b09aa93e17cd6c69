"""Sessions of Spark, on this machine or on a cluster, and whether anything answers at the address of a cluster."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, cast

from heldout.errors import HeldoutError, OptionError
from heldout.extras import missing_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Seconds until an address that does not answer is given up.
PATIENCE = 10.0
_PORTS = {"spark": 7077, "sc": 15002, "tcp": 8786, "tls": 8786, "ws": 8787, "wss": 8787, "http": 80, "https": 443}


def check_reachable(master: str) -> None:
    """Refuse the address of a cluster at which nobody answers; what is no address, such as local[2], passes."""
    places = addresses(master)
    why = ""
    for host, port in places:
        try:
            with socket.create_connection((host, port), timeout=PATIENCE) as line:
                heard = not master.startswith("tcp://") or _greets(line)
        except OSError as error:
            why = f"{host}:{port} {_words(error)}"
            continue
        if heard:
            return
        raise OptionError(
            f"At {master} somebody listens, but no Dask scheduler answered within {PATIENCE:.0f} seconds.",
            hint="check the port: a scheduler prints its address when it starts, and its page has another one.",
        )
    if places:
        raise OptionError(
            f"The master {master} cannot be reached: {why}.",
            hint="check the address, that the cluster is up, and that no firewall stands between.",
        )


def _greets(line: socket.socket) -> bool:
    """Whether a Dask scheduler is there, which is the first to speak; Dask's own connection waits for that for ever."""
    with suppress(OSError):
        return bool(line.recv(1))
    return False


def addresses(master: str) -> list[tuple[str, int]]:
    """The hosts and ports in the address of a cluster; several masters stand with commas between.

    >>> addresses("spark://a:7077,b"), addresses("k8s://https://10.0.0.1:6443"), addresses("local[2]")
    ([('a', 7077), ('b', 7077)], [('10.0.0.1', 6443)], [])
    """
    match = re.match(r"(?:k8s://)?(?:(\w+)://)?(.*)", master)
    kind = match[1] if match else None
    if match is None or (kind not in _PORTS and not master.startswith("k8s://")):
        return []
    places = []
    for address in match[2].split(","):
        # The brackets of [::1]:7077 belong to the address alone.
        parts = re.fullmatch(r"\[?(.*?)\]?(?::(\d{1,5}))?", address.partition("/")[0])
        if parts and parts[1]:
            places.append((parts[1], int(parts[2] or _PORTS[kind or "https"])))
    return places


def _words(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"does not answer within {PATIENCE:.0f} seconds"
    if isinstance(error, ConnectionRefusedError):
        return "refuses the connection"
    if isinstance(error, socket.gaierror):
        return "is a host that cannot be found"
    return f"cannot be connected to ({error.strerror or error})"


# The oldest that Spark 4 runs on.
OLDEST = 17
# Starting a virtual machine takes a second or two; one that takes longer than this hangs.
SPARK_PATIENCE = 60.0

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
    version_text = _version_text(program)
    version = version_in(version_text)
    if version is None:
        words = " ".join(version_text.split())[:200] or "nothing"
        raise OptionError(f"Spark needs Java, and {program} does not say which it is: {words}.", hint=INSTALL)
    if version < OLDEST:
        raise OptionError(f"Spark needs Java {OLDEST} or newer, and {program} is Java {version}.", hint=INSTALL)
    return program


def version_in(text: str) -> int | None:
    """The number of the Java version in what `java -version` says, before version 9 the second one.

    >>> version_in('openjdk version "17.0.15" 2025-04-15'), version_in('java version "1.8.0_292"'), version_in("no")
    (17, 8, None)
    """
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def _version_text(program: str) -> str:
    try:
        told = subprocess.run(  # noqa: S603 - the program that Spark itself would start
            [program, "-version"], capture_output=True, text=True, errors="replace", check=False, timeout=SPARK_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return told.stderr + told.stdout


# All cores of this machine.
HERE = "local[*]"
# How the address of a Spark Connect server begins.
CONNECT = "sc://"
# What Spark itself takes: on this machine, a cluster of its own (also several masters, or a small one in processes
# here), a server of Spark Connect, or a cluster of Hadoop or Kubernetes.
_MASTERS = r"local(-cluster)?(\[[^\]]+\])?|spark://.+|sc://.+|yarn|k8s://.+"
# How long a cluster may take, in seconds, to give the first worker: a busy one has a queue.
QUEUE = 300.0
# How long the end of a virtual machine is waited for, in seconds.
ENDING = 30.0

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Where in a program a column was made is of no use to us, and each failure would be printed with it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The time that Spark itself retries a resource manager which does not answer; its own default is a quarter of an
    # hour.
    "spark.hadoop.yarn.resourcemanager.connect.max-wait.ms": "20000",
    "spark.hadoop.yarn.resourcemanager.connect.retry-interval.ms": "2000",
    "spark.hadoop.ipc.client.connect.max.retries": "3",
    "spark.hadoop.ipc.client.connect.max.retries.on.timeouts": "2",
    "spark.hadoop.ipc.client.connect.timeout": "10000",
}


def spark_session(master: str | None = None) -> tuple[SparkSession, Callable[[], None]]:
    """The session to read with, and how to end it: one that was there before is used and left running."""
    there = _running()
    if there is not None:
        _check_same(there, master)
        return there, _nothing
    if master is not None and master.startswith(CONNECT):
        connected = _connected(master)
        return connected, connected.stop
    session, gateway = _started(master or HERE)
    return session, lambda: _end(session, gateway)


def check_master(master: str | None) -> None:
    """Refuse what no Spark can be the master of, before a virtual machine is started that says so in its own words.

    >>> check_master("local[2]")
    >>> check_master("yarn")
    """
    if master is None or re.fullmatch(_MASTERS, master):
        return
    dask = re.match(r"(tcp|tls|ws|wss|ucx)://", master)
    raise OptionError(
        f"master is {master!r}, and that is no Spark master{', but the address of a Dask scheduler' if dask else ''}.",
        hint="it looks like spark://host:7077, sc://host:15002, local[4], yarn or k8s://https://host:6443"
        f"{'; for Dask use engine dask (--engine dask)' if dask else ''}.",
    )


def on_cluster(master: str | None) -> bool:
    """Whether the session for this master, or the one that is there already, computes elsewhere."""
    there = _running()
    return not (master or HERE if there is None else _master_of(there)).startswith("local")


def is_spark(frame: Any) -> bool:
    """Whether a frame of narwhals is one of Spark, read by a session of this process or by a Spark Connect server."""
    kind = frame.implementation
    return bool(kind.is_pyspark() or kind.is_pyspark_connect())


def _master_of(session: SparkSession) -> str:
    """Where a session computes; one of Spark Connect knows its server alone, and no context."""
    if _is_connect(session):
        server: Any = session
        return f"{CONNECT}{server.client.host}"
    return str(session.sparkContext.master)


def _is_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _connected(server: str) -> SparkSession:
    """A session on a Spark Connect server."""
    from pyspark.sql import SparkSession

    if not (importlib.util.find_spec("grpc") and importlib.util.find_spec("grpc_status")):
        raise OptionError(
            f"master is {server}, and the packages with which pyspark talks to a Spark Connect server are missing.",
            hint='pip install "pyspark[connect]".',
        )
    check_reachable(server)
    builder: Any = SparkSession.builder
    try:
        with without_pandas_warning():
            session: SparkSession = builder.remote(server).getOrCreate()
            _await_worker(session, server)
    except HeldoutError:
        raise
    except Exception as error:
        from heldout.engines.engine_errors import one_line

        raise OptionError(
            f"The Spark Connect server {server} could not be connected to: {one_line(error).rstrip('.')}.",
            hint="check the address and its options (sc://host:15002/;token=…), and that its Spark is not older than "
            "the pyspark here.",
        ) from error
    return session


def _end(session: SparkSession, gateway: Any) -> None:
    """Stop a session of ours, and wait for its virtual machine, which removes its temporary files when it ends."""
    from pyspark import SparkContext

    session.stop()
    if getattr(gateway, "proc", None) is None:
        return
    _close(gateway)
    # The next session starts another one.
    for name in ("_gateway", "_jvm"):
        setattr(SparkContext, name, None)


def _close(gateway: Any) -> None:
    gateway.shutdown()
    # The virtual machine ends with its standard input.
    gateway.proc.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(ENDING)


def _launched(conf: Any, log: IO[bytes]) -> Any:
    """Start a virtual machine, also if interrupted, and then end it: one that is left half-way runs for ever."""
    from pyspark.java_gateway import launch_gateway

    # An interrupt reaches the first thread only, and so not what starts it.
    with ThreadPoolExecutor(1) as pool:
        launched = pool.submit(cast("Callable[..., Any]", launch_gateway), conf, {"stdout": log, "stderr": log})
        try:
            return launched.result()
        except KeyboardInterrupt:
            _close(launched.result())
            raise


def _nothing() -> None:
    """Leave what others started."""


def _running() -> SparkSession | None:
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_extra("spark", "The engine 'spark'") from None
    try:
        session = SparkSession.active()
    except PySparkException:
        return None
    if _is_connect(session):
        return session
    # Of a session that was stopped, the object may still be there.
    return session if getattr(session.sparkContext, "_jsc", None) is not None else None


def _check_same(there: SparkSession, master: str | None) -> None:
    used = _master_of(there)
    # Of its server a session of Spark Connect says the host alone.
    told = f"{CONNECT}{addresses(master)[0][0]}" if master and master.startswith(CONNECT) else master
    if told is not None and told != used:
        raise OptionError(
            f"master is {master}, but this process has a Spark session on {used} already.",
            hint="leave out master to use it, or stop it first (spark.stop()).",
        )


def _started(master: str) -> tuple[SparkSession, Any]:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    check_master(master)
    check_reachable(master)
    find_java()
    conf = SparkConf().setMaster(master).setAppName("heldout").setAll(list(_settings(master).items()))
    # Java writes to the terminal long before its log can be told to be quiet. The file has no name, so none is left.
    with tempfile.TemporaryFile() as log, without_pandas_warning():
        try:
            gateway = _launched(conf, log) if getattr(SparkContext, "_gateway", None) is None else None
            context = SparkContext(conf=conf, gateway=gateway)
            session = SparkSession(context)
            if not master.startswith("local"):
                _await_worker(session, master)
            elif "PYSPARK_PYTHON" not in os.environ:
                # On this machine rows are counted by this Python, which has our package; Spark takes any python3.
                context.pythonExec = sys.executable
        except HeldoutError:
            raise
        except Exception as error:
            raise _not_started(master, error, log) from error
    return session, gateway


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Spark says that it was not tried with this version of pandas, which we do not use with it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support", category=FutureWarning)
        yield


def _settings(master: str) -> dict[str, str]:
    if not master.startswith("local"):
        return _QUIET
    cores = os.cpu_count() or 1
    return {
        **_QUIET,
        # Nobody else is to connect, and a host name that cannot be found is no reason to fail.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # 200, as for a cluster, are 200 tasks for a handful of cores.
        "spark.sql.shuffle.partitions": str(max(8, 2 * cores)),
        "spark.driver.memory": f"{_memory()}m",
    }


def _memory() -> int:
    """Megabytes for the one process that does everything here: half of the machine, 1 GB at least and 8 at most."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
    except (ValueError, OSError, AttributeError):
        whole = 0
    return max(1024, min(8192, whole // 2))


def _await_worker(session: SparkSession, master: str) -> None:
    """Do one small job, for a cluster without free workers would keep the real one waiting for ever, in silence."""
    import threading

    tracker: Any = session
    failed: list[Exception] = []

    def job() -> None:
        try:
            session.range(1).count()
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            failed.append(error)

    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    thread.join(QUEUE)
    if thread.is_alive():
        tracker.interruptAll() if _is_connect(session) else tracker.sparkContext.cancelAllJobs()
        session.stop()
        raise OptionError(
            f"The Spark master {master} answered, but gave no worker within {QUEUE:.0f} seconds.",
            hint="see on its page whether workers are registered and free, and have the memory that is asked for.",
        )
    if failed:
        raise failed[0]


def _not_started(master: str, error: Exception, log: IO[bytes]) -> OptionError:
    from heldout.engines.engine_errors import one_line

    log.seek(0)
    output = log.read().decode("utf-8", errors="replace")
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if ("Exception" in line or "rror" in line) and not line.startswith("at ")]
    reason = (telling or [one_line(error)])[0]
    return OptionError(
        f"Spark could not be started on {master}: {reason.rstrip('.')[:400]}.",
        hint="check the master (local[*], spark://host:7077, yarn or k8s://…), and try it with "
        f"'spark-submit --master {master} --version'.",
    )
