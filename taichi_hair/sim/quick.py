"""Quick launches of the kernels that every frame runs: arguments are fields and numbers, and were seen before."""

from __future__ import annotations

from .backend import ti

_seen: dict[tuple, tuple] = {}


def launch(kernel, *args) -> None:
    """Call a kernel whose arguments are templates, ints and floats.

    Taichi takes some 30 microseconds of Python for a call, most of a frame of a single avatar: it describes every
    argument anew to find the kernel that it compiled for them. Here that kernel is kept under the template arguments
    themselves, and only the numbers are handed over.
    """
    templates, numbers = _plan(kernel)
    key = (kernel, *[args[k] for k in templates])
    found = _seen.get(key)
    if found is None:
        kernel(*args)
        found = _compiled(kernel, args)
        if found is not None:
            _seen[key] = found
        return
    program, compiled, data = found
    context = compiled.make_launch_context()
    for n, (k, real) in enumerate(numbers):
        if real:
            context.set_arg_float((n,), float(args[k]))
        else:
            context.set_arg_int((n,), int(args[k]))
    program.launch_kernel(data, context)


_plans: dict[object, tuple[list[int], list[tuple[int, bool]]]] = {}


def _plan(kernel) -> tuple[list[int], list[tuple[int, bool]]]:
    """Positions of a kernel's template arguments, and of its numbers with whether they are floats."""
    if kernel not in _plans:
        templates, numbers = [], []
        for k, argument in enumerate(kernel._primal.arguments):
            if argument.annotation in (ti.i32, ti.f32):
                numbers.append((k, argument.annotation == ti.f32))
            else:
                templates.append(k)
        _plans[kernel] = templates, numbers
    return _plans[kernel]


def _compiled(kernel, args):
    """(program, kernel, code) of a kernel that has run with these arguments."""
    primal = kernel._primal
    program = ti.lang.impl.get_runtime().prog
    compiled = primal.compiled_kernels[primal.ensure_compiled(*args)]
    return program, compiled, program.compile_kernel(program.config(), program.get_device_caps(), compiled)
