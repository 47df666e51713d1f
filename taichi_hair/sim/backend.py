"""init(): choose the device, start Taichi on it once, and say what it is. The only caller of ti.init."""

import contextlib
import ctypes
import ctypes.util
import io
import os
import subprocess
import sys
from dataclasses import dataclass

os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "False")
import taichi as ti

BACKENDS = ("auto", "cpu", "cuda", "vulkan", "metal")


class BackendError(RuntimeError):
    """The device that was asked for cannot be used on this machine."""


@dataclass(frozen=True)
class Backend:
    """What Taichi runs on."""

    name: str  # "cpu", "cuda", "vulkan" or "metal"
    threads: int  # CPU threads, 0 on a GPU
    note: str  # one sentence for the user

    def __str__(self) -> str:
        return self.note


_current: Backend | None = None

_PROBE = """
import os, sys
os.environ["ENABLE_TAICHI_HEADER_PRINT"] = "False"
import taichi as ti
arch = getattr(ti, sys.argv[1])
ti.init(arch=arch, enable_fallback=False, log_level=ti.ERROR, offline_cache=False)
x = ti.field(ti.f32, 4)
x.fill(3.0)
sys.exit(0 if ti.cfg.arch == arch and x[3] == 3.0 else 1)
"""

_VULKAN_DEVICES = """
import ctypes, ctypes.util, sys
vk = ctypes.CDLL(sys.argv[1])
class Info(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32), ("app", ctypes.c_void_p),
                ("layers", ctypes.c_uint32), ("layer_names", ctypes.c_void_p), ("extensions", ctypes.c_uint32),
                ("extension_names", ctypes.c_void_p)]
info, instance, count = Info(type=1), ctypes.c_void_p(), ctypes.c_uint32()
if vk.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)):
    sys.exit(1)
vk.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
devices = (ctypes.c_void_p * count.value)()
vk.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices)
for device in devices:
    raw = (ctypes.c_uint32 * 512)()  # VkPhysicalDeviceProperties: four words, device type, then the name
    vk.vkGetPhysicalDeviceProperties(ctypes.c_void_p(device), raw)
    name = bytes(raw)[20:276].split(b"\\0")[0].decode("utf-8", "replace")
    print(raw[4], name)
"""


def vulkan_devices() -> list[tuple[bool, str]]:
    """(is a real GPU, name) of each Vulkan device. Asked in a child process: a broken driver may crash."""
    library = ctypes.util.find_library("vulkan") or ctypes.util.find_library("vulkan-1")
    if not library:
        return []
    try:
        run = subprocess.run(
            [sys.executable, "-c", _VULKAN_DEVICES, library], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    devices = []
    for line in run.stdout.splitlines():
        kind, _, name = line.partition(" ")
        if kind.isdigit():
            devices.append((int(kind) in (1, 2, 3), name))  # integrated, discrete, virtual; 4 is a CPU
    return devices


def probe(name: str) -> bool:
    """Whether Taichi starts and computes on that device, tried in a child process."""
    try:
        run = subprocess.run(
            [sys.executable, "-c", _PROBE, name], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def _cuda_present() -> bool:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _candidates() -> list[str]:
    if sys.platform == "darwin":
        return ["metal"]
    found = ["cuda"] if _cuda_present() else []
    if any(real for real, _ in vulkan_devices()):
        found.append("vulkan")
    return found


def _quick_front_end() -> None:
    """Two shortcuts through the Python part of Taichi's compiler, which is most of a start from a warm cache.

    It reads, wraps and parses the source of a function anew for each of its calls, and renders a picture of the source
    line for every expression, in case of an error. Here a function is parsed once, and file and line stand for the
    picture in functions of this package and of Taichi itself; kernels of others keep their pictures.
    """
    from taichi.lang import kernel_impl
    from taichi.lang.ast.ast_transformer_utils import ASTTransformerContext

    homes = tuple(os.path.dirname(os.path.dirname(os.path.abspath(f))) + os.sep for f in (__file__, ti.__file__))
    picture = ASTTransformerContext.get_pos_info
    parse = kernel_impl._get_tree_and_ctx
    if getattr(parse, "quick", False):
        return
    parsed = {}

    def position(self, node):
        if not str(self.file).startswith(homes):
            return picture(self, node)
        return f'File "{self.file}", line {node.lineno + self.lineno_offset}, in {self.func.func.__name__}:\n'

    def parse_once(func, *args, **options):
        if options.get("is_kernel", True) or options.get("is_real_function", False):
            return parse(func, *args, **options)  # a kernel's tree changes as it is compiled
        if func.func not in parsed:
            tree, context = parse(func, *args, **options)
            parsed[func.func] = tree, context.src, context.lineno_offset + 1, context.file
            return tree, context
        tree, src, line, file = parsed[func.func]
        names = kernel_impl._get_global_vars(func.func)
        given = {"argument_data": options["args"], "ast_builder": options["ast_builder"]}
        return tree, ASTTransformerContext(
            is_kernel=False, func=func, global_vars=names, src=src, start_lineno=line, file=file, **given
        )

    parse_once.quick = True
    ASTTransformerContext.get_pos_info = position
    kernel_impl._get_tree_and_ctx = parse_once


def init(backend: str = "auto", *, threads: int | None = None, debug: bool = False) -> Backend:
    """Start Taichi once per process and return what it runs on.

    `auto` takes CUDA, Metal or Vulkan where a real GPU answers a trial run, else the CPU. A software Vulkan driver is
    used only when "vulkan" is asked for by name. Asking again for the same device changes nothing; another device
    needs a new process. `threads` bounds the CPU threads, `debug` checks every index (CPU, slow).

    Raises ValueError for an unknown name and BackendError where the device does not answer.
    """
    global _current
    if backend not in BACKENDS:
        raise ValueError(f"backend: {backend!r} is unknown, wanted one of {', '.join(BACKENDS)}")
    if _current is not None:
        if backend in ("auto", _current.name):
            return _current
        raise BackendError(
            f"backend: this process already runs on {_current.name}, found a request for {backend}; "
            "a second device needs a new process"
        )
    name = backend
    if backend == "auto":
        name = next((c for c in _candidates() if probe(c)), "cpu")
    elif backend != "cpu" and not probe(backend):
        raise BackendError(f"backend: {backend} does not answer on this machine (driver missing or no device)")
    cores = os.cpu_count() or 1
    options = {} if threads is None else {"cpu_max_num_threads": max(1, int(threads))}
    with contextlib.redirect_stdout(io.StringIO()):  # Taichi announces itself on stdout, where --json output goes
        ti.init(
            arch=getattr(ti, name),
            enable_fallback=False,
            fast_math=False,
            default_fp=ti.f32,
            default_ip=ti.i32,
            log_level=ti.ERROR,
            debug=debug,
            advanced_optimization=False,  # its passes take most of a cold start, and the kernels run as fast without
            offline_cache=True,
            **options,
        )
    if not debug:
        _quick_front_end()
    if ti.cfg.arch != getattr(ti, name):
        raise BackendError(f"backend: asked Taichi for {name}, found {ti.cfg.arch} (is TI_ARCH set?)")
    if name == "cpu":
        used = min(cores, threads) if threads else cores
        note = f"CPU, {used} thread{'s' if used > 1 else ''}"
        _current = Backend("cpu", used, note)
    else:
        detail = ""
        if name == "vulkan":
            devices = vulkan_devices()
            detail = f" ({devices[0][1]})" if devices else ""
        _current = Backend(name, 0, f"{name.upper() if name == 'cuda' else name.capitalize()}{detail}")
    return _current


def current() -> Backend:
    """What init() chose; starts the default device if nothing has been chosen yet."""
    return _current if _current is not None else init("auto")
