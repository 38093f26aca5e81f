"""The command `server`: requests a second, and the memory of a server that sees ever new schemas.

    python -m jsonschemabench server --requests 3000 --clients 8
    python -m jsonschemabench server --requests 64 --clients 1,8,32 --url http://127.0.0.1:8100/v1

Starts `structgen serve demo` as a process of its own, or takes the server at `--url`. Each request
is a chat with a small schema that no other request has. Clients send one request after the other,
each over a connection of its own. A table has requests and written tokens a second for each number
of clients, the time of the server's processors, which other work on the machine changes little, and
the memory of the server (resident set) after every so many requests.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschemabench.errors import BenchError

START_SECONDS = 180.0
KINDS = ("string", "integer", "enum", "pattern", "array", "object", "any", "format")


@dataclass(slots=True)
class Measured:
    """What some clients have measured.

    processors: seconds of the server's processors. memory: (requests answered, MiB of the server).
    """

    seconds: float = 0.0
    processors: float = 0.0
    latencies: list[float] = field(default_factory=list)
    tokens: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[int, float]] = field(default_factory=list)


def add_parser(commands: Any) -> None:
    """Add the command `server`."""
    parser = commands.add_parser(
        "server",
        help="measure a server: requests a second, and its memory as new schemas come",
        description="Send chats with a schema each to a server, by several clients at once.",
    )
    parser.add_argument("--requests", type=int, default=256, metavar="N", help="(default: 256)")
    parser.add_argument(
        "--clients", default="8", metavar="NUMBERS", help="at once, such as 1,8,32 (default: 8)"
    )
    parser.add_argument("--max-tokens", type=int, default=32, metavar="N", help="(default: 32)")
    parser.add_argument(
        "--same", action="store_true", help="one schema for all requests, in place of one for each"
    )
    parser.add_argument(
        "--plain", action="store_true", help="no schemas, for servers that do not take them"
    )
    parser.add_argument("--url", help="of a server that runs already, such as http://host:8000/v1")
    parser.add_argument("--model", default="demo", metavar="NAME", help="(default: demo)")
    parser.add_argument("--pid", type=int, help="of that server, to read its memory")
    parser.add_argument(
        "--every", type=int, default=250, metavar="N", help="requests between two looks at memory"
    )


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table."""
    clients = [int(part) for part in args.clients.split(",") if part.strip().isdigit()]
    if not clients or min(clients) < 1 or args.requests < 1:
        raise BenchError("there is nothing to measure", expected="--requests 64 --clients 1,8")
    with _server(args) as (url, pid):
        print(
            "| clients | requests a second | tokens a second | p50, p99 of a request, ms | ", end=""
        )
        print("processors, ms a token |\n|---|---|---|---|---|")
        curve: list[tuple[int, float]] = []
        sent = 0
        for count in clients:
            bodies = (_body(args, number) for number in range(sent, sent + args.requests))
            found = measure(url, bodies, count, pid, args.every)
            if found.wrong:
                raise BenchError(f"a request failed: {found.wrong[0]}")
            took = sorted(found.latencies)
            middle, late = statistics.median(took), took[-max(1, len(took) // 100)]
            print(
                f"| {count} | {len(took) / found.seconds:.1f} | {found.tokens / found.seconds:.0f} "
                f"| {1e3 * middle:.0f}, {1e3 * late:.0f} "
                f"| {1e3 * found.processors / max(1, found.tokens):.1f} |",
                flush=True,
            )
            curve += [(sent + done, size) for done, size in found.memory]
            sent += args.requests
    if curve:
        print("\n| requests | memory of the server, MiB |\n|---|---|")
        for done, size in curve:
            print(f"| {done} | {size:.0f} |")
    return 0


def small_schema(number: int) -> dict[str, Any]:
    """A small schema that no other number has: another name, and another kind of value."""
    kinds: dict[str, dict[str, Any]] = {
        "string": {"type": "string", "minLength": 1, "maxLength": 3 + number % 7},
        "integer": {"type": "integer", "minimum": number, "maximum": number + 9},
        "enum": {"enum": [f"value {number}", number, None]},
        "pattern": {"type": "string", "pattern": f"^[a-c]{{1,3}}-{number}$"},
        "array": {"type": "array", "items": {"enum": [number, True]}, "maxItems": 2},
        "object": {"type": "object", "properties": {f"in{number}": {"type": "boolean"}}},
        "any": {"anyOf": [{"const": f"a{number}"}, {"type": "boolean"}]},
        "format": {"type": "string", "format": "date"},
    }
    name = f"field{number}"
    return {
        "type": "object",
        "properties": {name: kinds[KINDS[number % len(KINDS)]], "ok": {"type": "boolean"}},
        "required": [name],
        "additionalProperties": False,
    }


def _body(args: argparse.Namespace, number: int) -> bytes:
    """The body of a request."""
    messages = [{"role": "user", "content": f"Write the record {number}."}]
    fields: dict[str, Any] = {"model": args.model, "messages": messages}
    fields["max_tokens"] = args.max_tokens
    if not args.plain:
        schema = {"name": "record", "schema": small_schema(0 if args.same else number)}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return json.dumps(fields).encode()


def measure(
    url: str, bodies: Iterator[bytes], clients: int, pid: int | None, every: int
) -> Measured:
    """Send all requests by so many clients at once. pid: whose memory is read, if any."""
    found, lock = Measured(), threading.Lock()
    done = itertools.count(1)

    def work() -> None:
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)
        while True:
            with lock:
                body = None if found.wrong else next(bodies, None)
            if body is None:
                connection.close()
                return
            begin = time.perf_counter()
            connection.request("POST", f"{place.path}/chat/completions", body, _HEADERS)
            response = connection.getresponse()
            answer = response.read()
            seconds = time.perf_counter() - begin
            with lock:
                count = next(done)
                if response.status != http.client.OK:
                    found.wrong.append(answer.decode(errors="replace")[:300])
                else:
                    found.latencies.append(seconds)
                    found.tokens += json.loads(answer)["usage"]["completion_tokens"]
                if pid is not None and (count % every == 0 or count == 1):
                    found.memory.append((count, memory_of(pid)))

    begin, used = time.perf_counter(), processors_of(pid)
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.seconds, found.processors = time.perf_counter() - begin, processors_of(pid) - used
    return found


_HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer none"}


def processors_of(pid: int | None) -> float:
    """Seconds of processors that a process has used, all its threads together; nan for None."""
    if pid is None:
        return math.nan
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    user, system = fields.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """MiB of memory that a process has in use: its resident set."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    line = next(line for line in text.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


@contextmanager
def _server(args: argparse.Namespace) -> Iterator[tuple[str, int | None]]:
    """The address of the server, and its process."""
    if args.url:
        yield args.url.rstrip("/"), args.pid
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "structgen", "serve", args.model, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}/v1", process.pid if Path("/proc").is_dir() else None
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return once a server answers. BenchError when it does not start."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise BenchError("the server did not start", expected="structgen[hf,server] installed")
