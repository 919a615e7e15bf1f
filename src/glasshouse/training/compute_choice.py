"""The number format and the CPU threads of a job: what its spec sets, or what a rule says.

The rule follows from the processor, the GPU and the FLOPs of a step alone. No clock is read here. So the same command on the
same machine chooses the same, however busy the machine is.
"""

from dataclasses import dataclass

import torch

from glasshouse.formatting import flops as flops_text
from glasshouse.records import machine
from glasshouse.training import devices, process_group
from glasshouse.training.job import Job

# The compute capability from which NVIDIA GPUs have TF32 and bfloat16 (Ampere).
AMPERE = (8, 0)
# Steps from this many FLOPs on are computed in the format, on NVIDIA GPUs from Ampere on. On one H200, with the step as a
# CUDA graph: 1.75 GFLOP (`speech-lm`) took 0.97 ms in fp32 and 1.01 in bf16. Timings chose tf32 at 2.3, 8.8 and 156 GFLOP.
# bf16 was 1.75 times as fast as fp32 at 120 GFLOP, and slower than it without a graph.
TF32_FLOPS, BF16_FLOPS = 2e9, 2e11
# The same for bf16 on a processor with bfloat16 matrix instructions. Timings of `speech-classifier`, 0.6 GFLOP, came out for
# bf16 once and for fp32 the next time. Matrix products are about half of such a step, so bf16 gains at most 2 times.
CPU_BF16_FLOPS = 2e9
LIMITS = {"cuda": {"tf32": TF32_FLOPS, "bf16": BF16_FLOPS}, "cpu": {"bf16": CPU_BF16_FLOPS}}
# One thread for every so many FLOPs of a step. On two ARM cores a second thread gained 1.34 times (`speech-classifier`, 0.6
# GFLOP: 41.7 and 31.1 ms), 1.67 times (`speech-lm`, 1.75 GFLOP: 96 and 57 ms) and 1.47 times (`demo-lm`, 3.2 GFLOP: 190 and
# 129 ms). Beside another process on one of the cores, two threads took 4.2, 2.6 and 2.3 times as long as one.
FLOPS_PER_THREAD = 8e8


@dataclass(frozen=True)
class ComputeChoice:
    """What to train with, and in one line from where that is; the line is empty if the spec sets both.

    `threads` is 0 on other devices than a CPU.
    """

    precision: str
    threads: int
    reason: str = ""


def choose(job: Job) -> ComputeChoice:
    """The choice for a job."""
    asked = job.spec.training
    chooses_threads = job.device.type == "cpu" and not asked.threads
    if asked.precision != "auto" and not chooses_threads:
        return ComputeChoice(asked.precision, asked.threads)
    # The texts of the first batches differ between seeds. All seeds get the choice of one.
    flops = job.with_training(seed=0).step_flops() / process_group.count_for(asked)
    auto = asked.precision == "auto"
    precision, of_precision = precision_by_rule(job.device, flops) if auto else (asked.precision, "")
    threads, of_threads = threads_by_rule(flops) if chooses_threads else (asked.threads, "")
    reasons = "; ".join(filter(None, (of_precision, of_threads)))
    return ComputeChoice(precision, threads, f"{settings_text(precision, threads)}: by rule ({reasons})")


def settings_text(precision: str, threads: int) -> str:
    return precision + (f" on {threads} thread{'s' * (threads > 1)}" if threads else "")


def precision_by_rule(device: torch.device, flops: float) -> tuple[str, str]:
    """(number format, reason) for steps of so many FLOPs in a process."""
    if why := only_fp32(device):
        return "fp32", why
    limits = LIMITS[device.type]
    rule = ", ".join(f"{name} from {flops_text(limit)} on" for name, limit in limits.items())
    reached = ["fp32", *(name for name, limit in limits.items() if flops >= limit)]
    return reached[-1], f"a step has {flops_text(flops)}, {rule}"


def only_fp32(device: torch.device) -> str:
    """Why a device computes in fp32 alone; empty if it has other number formats."""
    if device.type == "cuda":
        return "" if torch.cuda.get_device_capability(device) >= AMPERE else "this GPU has neither TF32 nor bfloat16"
    if device.type == "cpu":
        # Dot products (AVX512_BF16) gain too little.
        return "" if has_bf16("amx_bf16") else "this processor has no bfloat16 matrix instructions"
    return f"always on {device.type}"


def threads_by_rule(flops: float) -> tuple[int, str]:
    """(CPU threads, reason) for steps of so many FLOPs in a process."""
    available = devices.available_threads()
    if available == 1:
        return 1, "one core" if machine.physical_cores() == 1 else "torch is limited to one thread here"
    wanted = max(int(flops / FLOPS_PER_THREAD), 1)
    if wanted < available:
        return wanted, f"a step has {flops_text(flops)}, one thread for each {flops_text(FLOPS_PER_THREAD)}"
    return available, f"{available} cores"


def precisions_text(device: torch.device) -> str:
    """The rule for a device, for steps of any size."""
    if why := only_fp32(device):
        return f"fp32: {why}"
    limits = LIMITS[device.type].items()
    return ", ".join(["fp32", *(f"{name} for steps from {flops_text(limit)} on" for name, limit in limits)])


def threads_text() -> str:
    """The rule for CPU threads, for steps of any size."""
    return f"one for each {flops_text(FLOPS_PER_THREAD)} of a step, at most {devices.available_threads()}"


def times_bf16() -> bool:
    """Whether bfloat16 on this CPU is worth timing. Emulated, a step takes minutes."""
    return has_bf16("amx_bf16", "avx512_bf16")


def has_bf16(*of_x86: str) -> bool:
    """Whether torch can use one of these bfloat16 instructions here, or those of Arm."""
    known = machine.instructions()
    # Without AVX-512, which ATEN_CPU_CAPABILITY can forbid, torch's fused attention has no bfloat16.
    avx512 = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return "bf16" in known or (avx512 and not known.isdisjoint(of_x86))
