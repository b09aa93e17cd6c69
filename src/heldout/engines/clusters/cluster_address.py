"""Whether somebody listens at the address of a cluster, asked before anything is started there."""

from __future__ import annotations

import re
import socket

from heldout.errors import OptionError

# Seconds until an address that does not answer is given up.
PATIENCE = 10.0
_PORTS = {"spark": 7077, "tcp": 8786, "tls": 8786, "ws": 8787, "wss": 8787, "http": 80, "https": 443}


def check_reachable(master: str) -> None:
    """Refuse the address of a cluster at which nobody answers; what is no address, such as local[2], passes."""
    places = addresses(master)
    why = ""
    for host, port in places:
        try:
            with socket.create_connection((host, port), timeout=PATIENCE):
                return
        except OSError as error:
            why = f"{host}:{port} {_words(error)}"
    if places:
        raise OptionError(
            f"The master {master} cannot be reached: {why}.",
            hint="check the address, that the cluster is up, and that no firewall stands between.",
        )


def check_greeting(master: str) -> None:
    """Refuse an address where somebody listens who is no Dask scheduler, which would be the first to speak.

    Dask's own connection waits for the greeting without end.
    """
    if not master.startswith("tcp://"):
        return
    for host, port in addresses(master):
        try:
            with socket.create_connection((host, port), timeout=PATIENCE) as line:
                greeted = bool(line.recv(1))
        except OSError:
            greeted = False
        if not greeted:
            raise OptionError(
                f"At {master} somebody listens, but no Dask scheduler answered within {PATIENCE:.0f} seconds.",
                hint="check the port: a scheduler prints its address when it starts, and its page has another one.",
            )


def addresses(master: str) -> list[tuple[str, int]]:
    """The hosts and ports in the address of a cluster; several masters stand with commas between.

    >>> addresses("spark://a:7077,b"), addresses("k8s://https://10.0.0.1:6443"), addresses("local[2]")
    ([('a', 7077), ('b', 7077)], [('10.0.0.1', 6443)], [])
    """
    found = re.match(r"(?:k8s://)?(?:(\w+)://)?(.*)", master)
    kind = found[1] if found else None
    if found is None or (kind not in _PORTS and not master.startswith("k8s://")):
        return []
    places = []
    for place in found[2].split(","):
        # The brackets of [::1]:7077 belong to the address alone.
        parts = re.fullmatch(r"\[?(.*?)\]?(?::(\d+))?/*", place.partition("/")[0])
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
