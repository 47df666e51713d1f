"""Workers: local processes that run jobs; one that dies takes no job and no other worker with it."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import wait

from .jobs import Job, failed, run

TRIES = 3  # a job whose worker died this often is given up


def _serve(pipe) -> None:
    """Run what comes through the pipe until it is closed."""
    while True:
        try:
            job = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if job is None:
            return
        row = run(job)
        try:
            pipe.send(row)
        except (BrokenPipeError, KeyboardInterrupt):
            return


class _Worker:
    def __init__(self, context):
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(far,), daemon=True)
        self.process.start()
        far.close()
        self.job: Job | None = None

    def give(self, job: Job) -> None:
        self.job = job
        self.pipe.send(job)

    def stop(self) -> None:
        try:
            self.pipe.send(None)
        except OSError:
            pass
        self.pipe.close()
        self.process.join(timeout=5.0)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()


def run_local(jobs: list[Job], workers: int, report: Callable[[dict], None]) -> None:
    """Run all jobs on `workers` processes (0: in this one); `report` gets a row per job, in the order they end."""
    if workers < 1:
        for job in jobs:
            report(run(job))
        return
    # Taichi and threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    waiting, tries = deque(jobs), {}
    crew: list[_Worker] = []
    try:
        while waiting or any(w.job for w in crew):
            while waiting and len(crew) < min(workers, len(jobs)):
                crew.append(_Worker(context))
            for worker in [w for w in crew if w.job is None]:
                if waiting:
                    try:
                        worker.give(waiting[0])
                        waiting.popleft()
                    except OSError:
                        worker.job = None
                        crew.remove(worker)
            busy = [w for w in crew if w.job]
            for pipe in wait([w.pipe for w in busy], timeout=1.0):
                worker = next(w for w in busy if w.pipe is pipe)
                job = worker.job
                try:
                    row = pipe.recv()
                except (EOFError, OSError):
                    worker.process.join(timeout=5.0)
                    crew.remove(worker)
                    pipe.close()
                    tries[job.output] = tries.get(job.output, 0) + 1
                    if tries[job.output] < TRIES:
                        waiting.appendleft(job)
                    else:
                        report(given_up(job, worker.process.exitcode))
                    continue
                worker.job = None
                report(row)
    finally:
        for worker in crew:
            worker.stop()


def given_up(job: Job, code: int | None) -> dict:
    """The row of a pair whose workers died again and again."""
    return failed(job, f"the worker process ended {TRIES} times in this pair (exit code {code})")
