"""Files that appear whole or not at all, even when the process is killed while it writes."""

from __future__ import annotations

import os
from pathlib import Path

from ..avatar.gltf import write_whole


def write_unseen(path, data: bytes) -> None:
    """Write a file that has no name until it is complete; a kill in between leaves nothing behind.

    Where the system has no nameless files, a temporary neighbour takes the name at the end (`write_whole`).
    """
    path = Path(path)
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        write_whole(path, data)
        return
    try:
        handle = os.open(path.parent, flag | os.O_WRONLY, 0o666)
    except OSError:  # this file system has none, or the folder is not there: the other way says so
        write_whole(path, data)
        return
    try:
        with os.fdopen(os.dup(handle), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        source = f"/proc/self/fd/{handle}"
        try:
            _link(source, path)
        except FileExistsError:
            spare = path.with_name(f".{path.name}.{os.getpid()}.new")  # whole from its first moment on
            spare.unlink(missing_ok=True)
            _link(source, spare)
            os.replace(spare, path)
    except OSError:
        write_whole(path, data)
    finally:
        os.close(handle)


def _link(source: str, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # A folder's handle makes Python call linkat, which follows the link in /proc to the nameless file.
        os.link(source, path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)
