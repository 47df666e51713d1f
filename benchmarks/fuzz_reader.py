"""Feed the reader with mutated files for a long time: only AssetError may come out, fast, and in little memory.

    python benchmarks/fuzz_reader.py --count 200000 --record benchmarks/fuzz_reader.json

Mutations are numbered: number N with the same corpus always gives the same file (`--only N --write out.glb`).
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import random
import resource
import signal
import struct
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SECONDS = 2.0  # longest time for one file
MEMORY = 2**30  # bytes of address space for one file, above what the process had before
BATCH = 500
ODD = [
    None, True, False, -1, 0, 1, 2, 3, 7, 255, 65536, 2**31 - 1, 2**31, 2**53, 10**30, -(2**63), 0.5, 1e38, 1e308,
    float("nan"), float("inf"), "", "a", "../../etc/passwd", "data:;base64,AAAA", "data:;base64,@", "file:///etc/hosts",
    "http://127.0.0.1/x", "MAT4", "SCALAR", "VEC3", "SPHERE", [], {}, [[]], [0], [1, 2, 3], [float("nan")] * 3,
    [0, 0, 0, 0], [1e300] * 16, {"node": 0}, {"sphere": {}}, 5120, 5121, 5123, 5125, 5126, "\ud800", "\x1b[31m",
]  # fmt: skip


def corpus(folders: list[Path], limit: int = 100_000) -> list[tuple[str, bytes]]:
    """Files to mutate, small ones, in a fixed order; a GLB of our own stands in where there is none."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".glb", ".vrm", ".vrma", ".gltf") and path.stat().st_size <= limit:
                found.append((path.name, path.read_bytes()))
    return found or [("triangle.glb", triangle())]


def triangle() -> bytes:
    content = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0, "children": [1]}, {"translation": [0, 1, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36}],
    }
    return pack(json.dumps(content).encode(), struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))


def pack(text: bytes, binary: bytes) -> bytes:
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        body += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def unpack(data: bytes) -> tuple[bytes, bytes]:
    if data[:4] != b"glTF":
        return data, b""
    size = struct.unpack_from("<I", data, 12)[0]
    return data[20 : 20 + size], data[28 + size :]


def mutated(files: list[tuple[str, bytes]], number: int) -> bytes:
    """Mutation `number` of the corpus."""
    rng = random.Random(number)
    data = rng.choice(files)[1]
    kind = rng.random()
    if kind < 0.15:
        return _bytes(rng, data)
    if kind < 0.20:
        return data[: rng.randrange(len(data))] if rng.random() < 0.7 else data + rng.randbytes(rng.randrange(1, 64))
    text, binary = unpack(data)
    if kind < 0.35 and binary:
        return pack(text, _binary(rng, binary))
    try:
        content = json.loads(text)
    except ValueError:
        return _bytes(rng, data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        content = _json(rng, content, files)
    try:
        text = json.dumps(content).encode()
    except (ValueError, RecursionError):
        return data
    return pack(text, binary) if data[:4] == b"glTF" else text


def _bytes(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    if rng.random() < 0.5:  # a digit for a digit, which keeps the JSON whole
        digits = [i for i, byte in enumerate(out) if 48 <= byte <= 57]
        for at in rng.sample(digits, min(3, len(digits))):
            out[at] = rng.randrange(48, 58)
        return bytes(out)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(out)


def _binary(rng: random.Random, binary: bytes) -> bytes:
    out = bytearray(binary)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(0, max(len(out) - 4, 1)) & ~3
        value = rng.choice((float("nan"), float("inf"), -0.0, 1e30, -1e38, 1e-40, rng.uniform(-10, 10)))
        word = struct.pack("<f", value) if rng.random() < 0.6 else struct.pack("<I", rng.getrandbits(32))
        out[at : at + 4] = word[: len(out[at : at + 4])]
    return bytes(out)


def _json(rng: random.Random, content, files):
    """One change somewhere in the tree."""
    parents = []
    stack = [content]
    while stack:
        value = stack.pop()
        if isinstance(value, (dict, list)) and value:
            parents.append(value)
            stack.extend(value.values() if isinstance(value, dict) else value)
    if not parents:
        return content
    parent = rng.choice(parents)
    key = rng.choice(list(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
    act = rng.random()
    if act < 0.45:
        parent[key] = _odd(rng, parent[key])
    elif act < 0.65:
        del parent[key]
    elif act < 0.75 and isinstance(parent, list):
        text = json.dumps(parent[key])
        repeats = rng.choice((1, 2, 40))
        if len(text) * repeats < 100_000:  # so that repeats of repeats stay files and not a test of this script
            parent.extend(json.loads(text) for _ in range(repeats))
    elif act < 0.85 and isinstance(parent, list):
        rng.shuffle(parent)
    elif act < 0.95:
        other = rng.choice(parents)
        parent[key] = json.loads(json.dumps(rng.choice(list(other.values() if isinstance(other, dict) else other))))
    else:
        deep: object = parent[key]
        for _ in range(rng.choice((3, 50, 300))):
            deep = [deep]
        parent[key] = deep
    return content


def _odd(rng: random.Random, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or rng.random() < 0.3:
        return copy.deepcopy(rng.choice(ODD))  # it may be changed in its turn
    return rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, value / 3))


class Hang(BaseException):
    """Raised where one file takes too long."""


def _alarm(*_):
    raise Hang


def run_batch(folders: list[str], first: int, count: int) -> dict:
    """Load `count` mutations; what came out of them."""
    from taichi_hair.avatar.avatar import AssetError, load_bytes
    from taichi_hair.avatar.saving import to_bytes

    files = corpus([Path(f) for f in folders])
    load_bytes(files[0][1], "warm.glb").report.to_json()
    signal.signal(signal.SIGALRM, _alarm)
    status = Path("/proc/self/status").read_text()
    held = int(next(line for line in status.splitlines() if line.startswith("VmSize")).split()[1]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.RLIM_INFINITY))
    result: dict = {"loaded": 0, "refused": 0, "bad": [], "slowest": 0.0, "slowest_number": None}
    for number in range(first, first + count):
        data = mutated(files, number)
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            avatar = load_bytes(data, "fuzz.glb")
            for i in range(len(avatar.images)):
                avatar.images[i]
            avatar.report.to_json()
            to_bytes(avatar)
            result["loaded"] += 1
        except AssetError:
            result["refused"] += 1
        except Hang:
            result["bad"].append([number, "hang"])
        except BaseException as why:
            result["bad"].append([number, f"{type(why).__name__}: {why}"[:300]])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        took = time.perf_counter() - start
        if took > result["slowest"]:
            result["slowest"], result["slowest_number"] = took, number
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--corpus", type=Path, nargs="*", help="folders of files to mutate")
    parser.add_argument("--record", type=Path, help="write the result here as JSON")
    parser.add_argument("--only", type=int, help="make this one mutation and load it")
    parser.add_argument("--write", type=Path, help="with --only: write the mutated file here")
    args = parser.parse_args()
    beside = ROOT.parent / "shared"
    assets = Path(os.environ.get("TAICHI_HAIR_ASSETS", beside / "assets"))
    folders = [str(f) for f in (args.corpus or [beside / "cases", assets]) if f.is_dir()]
    if args.only is not None:
        from taichi_hair.avatar.avatar import load_bytes

        data = mutated(corpus([Path(f) for f in folders]), args.only)
        if args.write:
            args.write.write_bytes(data)
        print(load_bytes(data, "fuzz.glb").report.to_json())
        return 0
    start = time.time()
    total = {"files": args.count, "loaded": 0, "refused": 0, "bad": [], "slowest_seconds": 0.0, "peak_bytes": 0}
    starts = range(args.first, args.first + args.count, BATCH)
    with ProcessPoolExecutor(args.workers) as pool:
        jobs = [(n, pool.submit(run_batch, folders, n, min(BATCH, args.first + args.count - n))) for n in starts]
        for first, job in jobs:
            try:
                part = job.result()
            except BrokenProcessPool:
                total["bad"].append([first, "the process died in this batch"])
                break
            total["loaded"] += part["loaded"]
            total["refused"] += part["refused"]
            total["bad"] += part["bad"]
            total["slowest_seconds"] = max(total["slowest_seconds"], round(part["slowest"], 4))
            total["peak_bytes"] = max(total["peak_bytes"], part["peak"])
            if part["bad"]:
                print(part["bad"][:5], flush=True)
    total["corpus_files"] = len(corpus([Path(f) for f in folders]))
    total["seconds"] = round(time.time() - start, 1)
    total["python"] = platform.python_version()
    print(json.dumps({**total, "bad": total["bad"][:20]}, indent=2))
    if args.record:
        args.record.write_text(json.dumps(total, indent=2) + "\n")
    return 1 if total["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
