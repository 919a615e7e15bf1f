"""What makes training steps fast on this machine, and a job without each of these, to time what it is worth."""

import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import torch

from glasshouse import cpu_kernels
from glasshouse.parts import fp8_products
from glasshouse.parts.triton_installed import TRITON_INSTALLED
from glasshouse.training import compute_rule
from glasshouse.training.job import Job

CPU_KERNELS, CUDA_GRAPH = "kernels for CPUs", "CUDA graph"
COMPILERS = ("c++", "g++", "clang++")


def describe(device: torch.device) -> dict[str, str]:
    """Each fast path, and whether this machine has it."""
    if device.type == "cpu":
        from glasshouse.cpu_kernels import row_kernel

        compiler = next((name for name in COMPILERS if shutil.which(name)), None)
        spread = "on torch's threads" if row_kernel.on_torch_threads() else "in one thread: torch has no GNU OpenMP here"
        return {
            CPU_KERNELS: f"yes, in fp32, {spread}",
            "bfloat16 products": "yes" if compute_rule.times_bf16() else "no: this processor has no instructions for them",
            "training.compile=true": f"yes, by {compiler}" if compiler else f"no: it needs one of {', '.join(COMPILERS)}",
        }
    if device.type != "cuda":
        return {}
    bf16 = torch.cuda.get_device_capability(device) >= compute_rule.AMPERE
    triton = "yes" if TRITON_INSTALLED else "no: Triton is not installed"
    return {
        CUDA_GRAPH: "yes",
        "bfloat16 products": "yes" if bf16 else "no: this GPU emulates them",
        "training.fp8_products=true": "yes" if fp8_products.available(device) else "no: this GPU has no 8-bit products",
        "Triton kernels": triton,
        "training.compile=true": triton,
    }


def without(job: Job, precision: str) -> dict[str, tuple[Job, AbstractContextManager[None]]]:
    """For each fast path that steps of this job take by themselves: the job and a context in which they do not."""
    if job.device.type == "cpu" and precision == "fp32":
        return {CPU_KERNELS: (job, cpu_kernels.switched_off())}
    if job.device.type == "cuda" and job.spec.training.cuda_graph:
        training = replace(job.spec.training, cuda_graph=False)
        return {CUDA_GRAPH: (replace(job, spec=replace(job.spec, training=training)), nullcontext())}
    return {}
