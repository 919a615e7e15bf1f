"""The number format and the CPU threads of a job: what its spec sets, what was measured and kept, or what the rule says.

No clock is read here. So the same command on the same machine chooses the same, however busy the machine is.
"""

from dataclasses import dataclass

from glasshouse.training import compute_rule, kept_measurements, process_group
from glasshouse.training.job import Job


@dataclass(frozen=True)
class ComputeChoice:
    """What to train with, and in one line from where that is; the line is empty if the spec sets both.

    `threads` is 0 on other devices than a CPU. `remark` says why a kept measurement was not used.
    """

    precision: str
    threads: int
    reason: str = ""
    remark: str = ""


def choose(job: Job) -> ComputeChoice:
    """The choice for a job. A kept measurement of exactly this machine and shape goes before the rule."""
    asked = job.spec.training
    chooses_threads = job.device.type == "cpu" and not asked.threads
    if asked.precision != "auto" and not chooses_threads:
        return ComputeChoice(asked.precision, asked.threads)
    measurement, remark = kept_measurements.find(job)
    fastest = measurement.fastest(asked.precision, asked.threads) if measurement else None
    if measurement and fastest:
        return ComputeChoice(fastest.precision, fastest.threads or asked.threads, measurement.reason(fastest), remark)
    # The texts of the first batches differ between seeds. All seeds get the choice of one.
    flops = job.with_seed(0).step_flops() / process_group.count_for(asked)
    reasons = list[str]()
    precision, threads = asked.precision, asked.threads
    if precision == "auto":
        precision, reason = compute_rule.precision(job.device, flops)
        reasons.append(reason)
    if chooses_threads:
        threads, reason = compute_rule.threads(flops)
        reasons.append(reason)
    settings = kept_measurements.settings_text(precision, threads)
    return ComputeChoice(precision, threads, f"{settings}: by rule ({'; '.join(reasons)})", remark)
