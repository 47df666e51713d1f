"""The same jobs on a Ray cluster: tasks that Ray runs again when their worker dies."""

from __future__ import annotations

from collections.abc import Callable

from .jobs import Job, failed, run
from .workers import TRIES


class ClusterError(RuntimeError):
    """The cluster engine cannot be used; the message says what is missing."""


def run_ray(jobs: list[Job], workers: int, report: Callable[[dict], None], address: str | None = None) -> None:
    """Run all jobs on Ray; `report` gets a row per job, in the order they end.

    address: of a running cluster ("auto" finds it); None starts one on this machine with `workers` processes. Outputs
    must lie where every machine of the cluster sees them under the same path. A job runs again where its worker died;
    it writes its one file whole, so nothing is lost and nothing is there twice.
    """
    try:
        import ray
    except ImportError:
        raise ClusterError("the Ray engine needs Ray: pip install 'taichi-hair[cluster]'") from None
    started = not ray.is_initialized()
    if started:
        local = {} if address else {"num_cpus": max(1, workers), "include_dashboard": False}
        ray.init(address=address, log_to_driver=False, configure_logging=False, **local)
    try:
        task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(run)
        open_jobs = {task.remote(job): job for job in jobs}
        while open_jobs:
            done, _ = ray.wait(list(open_jobs), num_returns=1)
            for reference in done:
                job = open_jobs.pop(reference)
                try:
                    row = ray.get(reference)
                except ray.exceptions.RayError as why:
                    row = failed(job, f"{type(why).__name__}: {str(why).strip().splitlines()[0]}")
                report(row)
    finally:
        if started:
            ray.shutdown()
