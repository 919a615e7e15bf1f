"""torch.compile with the options of training.

On CUDA, small kernels that do not depend on each other become one. A row of up to LONGEST_ROW numbers is held in registers
while it is reduced; torch does so up to 1,024 and reads, and computes, longer rows twice. That matters for 8-bit products,
which need the largest number of every row of an activation.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

LONGEST_ROW = 4096


def compiled(function: Callable[..., Any]) -> Any:
    if not torch.cuda.is_available():
        return torch.compile(function)
    _hold_rows_in_registers()
    return torch.compile(function, options={"combo_kernels": True})


@cache
def _hold_rows_in_registers() -> None:
    from torch._inductor import config
    from torch._inductor.choices import InductorChoices
    from torch._inductor.runtime.hints import ReductionHint
    from torch._inductor.virtualized import V

    class RowChoices(InductorChoices):
        @staticmethod
        def should_use_persistent_reduction(features: Any, cooperative_reduction: bool) -> bool:
            if InductorChoices.should_use_persistent_reduction(features, cooperative_reduction):
                return True
            inner = features.get_reduction_hint() == ReductionHint.INNER and not cooperative_reduction
            return inner and V.graph.sizevars.statically_known_leq(features.reduction_numel, LONGEST_ROW)

        def uuid(self) -> bytes:
            """What distinguishes these choices in torch's cache of compiled code."""
            return f"rows of {LONGEST_ROW}".encode()

    config.inductor_choices_class = config.inductor_choices_class or RowChoices
