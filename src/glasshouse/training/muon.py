"""Muon: momentum whose singular values are all made about 1, for the matrices of the blocks (Jordan et al. 2024).

Embeddings, the head, vectors, LoRA adapters and matrices that are no linear layer are updated by AdamW. Queries, keys and
values are three matrices, although one product computes them. Axes: N matrices, R rows, C columns.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention
from glasshouse.specs.declared import settings_of
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.specs.spec_fields import setting
from glasshouse.training import sharded_tensors
from glasshouse.training.adamw import AdamW
from glasshouse.training.optimisers import LocalGroup, Optimiser, parameter_groups

# a, b, c of x -> a x + b x^3 + c x^5, which a step applies to all singular values.
Polynomial = tuple[float, float, float]
# Steep at 0, so that few steps bring all singular values between 0.7 and 1.2.
QUINTIC: Polynomial = (3.4445, -4.7750, 2.0315)
# A polynomial for each step, by the number of steps. Each deviates least from 1 over the range that the one before leaves,
# the first over 0.01 to 1, 0.003 to 1 or 0.001 to 1 (the composition of Polar Express, Amsel et al. 2025). Together they
# bring these singular values to within 0.27, 0.20 or 0.11 of 1. `tests/training/test_muon.py` computes the coefficients.
MINIMAX: dict[int, tuple[Polynomial, ...]] = {
    3: ((8.0934, -23.62, 17.446), (3.6366, -2.7219, 0.53655), (2.6613, -1.9772, 0.45262)),
    4: ((8.3837, -24.766, 18.357), (4.0434, -3.0114, 0.56951), (3.5056, -2.6267, 0.52572), (2.4901, -1.8343, 0.43683)),
    5: (
        *((8.4703, -25.108, 18.629), (4.1828, -3.1087, 0.58061), (3.9619, -2.9541, 0.56298)),
        *((3.2866, -2.4647, 0.50736), (2.2737, -1.6447, 0.41619)),
    ),
}
SMALLEST_NORM = 1e-7
SAME, PER_STEP = "quintic", "minimax"
# From so many columns for each row on, polynomials of the Gram matrix need fewer FLOPs than the steps.
WIDE = 1.5


class Muon(AdamW):
    """m <- momentum m + (1 - momentum) g, w <- w - rate (scale U V^T + decay w), U S V^T being m (or its look-ahead).

    The scale is 0.2 sqrt(max(rows, columns)), so that an update is as large as AdamW's and both share one learning rate
    (Liu et al., Muon is Scalable, 2025). The iteration computes in bfloat16 on CUDA and in float32 elsewhere, all matrices
    of one shape in one call. Sharded matrices are gathered for it. The other parameters get AdamW's update.
    """

    @dataclass(frozen=True)
    class Settings:
        momentum: float = setting(0.95, "decay of the moving average of gradients", minimum=0, maximum=0.9999)
        nesterov: bool = setting(True, "step along the momentum of the next step (Nesterov)")
        newton_schulz_steps: int = setting(5, "steps of the iteration that makes singular values 1", minimum=1, maximum=20)
        newton_schulz: str = setting(
            SAME, "polynomials of these steps: Jordan's in all, or the best one for each of 3 to 5", choices=(SAME, PER_STEP)
        )

    @staticmethod
    def check(training: TrainingSpec) -> None:
        settings = settings_of(Muon, training.own)
        if settings.newton_schulz == PER_STEP and settings.newton_schulz_steps not in MINIMAX:
            steps = f"not for training.newton_schulz_steps={settings.newton_schulz_steps}"
            reason = f"is for {min(MINIMAX)} to {max(MINIMAX)} steps, {steps}; choose one of these numbers"
            raise SpecError(reason, "training.newton_schulz", PER_STEP)

    @classmethod
    def build(cls, model: nn.Module, training: TrainingSpec) -> Optimiser:
        matrices = hidden_matrices(model)
        return cls(parameter_groups(model, training, orthogonal=matrices), training, matrices)

    def __init__(
        self, groups: list[dict[str, Any]], training: TrainingSpec, matrices: dict[nn.Parameter, list[int]]
    ) -> None:
        """`matrices` are the rows of the matrices in each parameter of the orthogonal groups."""
        super().__init__(groups, training)
        self.matrices, steps = matrices, self.settings.newton_schulz_steps
        self.polynomials = MINIMAX[steps] if self.settings.newton_schulz == PER_STEP else (QUINTIC,) * steps

    def initial_state(self, group: dict[str, Any], parameter: nn.Parameter) -> dict[str, Tensor]:
        if group["orthogonal"]:
            return {"momentum_buffer": torch.zeros_like(parameter)}
        return super().initial_state(group, parameter)

    def update(self, group: LocalGroup, rate: Tensor) -> None:
        if not group.settings["orthogonal"]:
            super().update(group, rate)
            return
        averages = group.state["momentum_buffer"]
        torch._foreach_lerp_(averages, group.gradients, 1 - self.settings.momentum)
        look_ahead = self.settings.momentum if self.settings.nesterov else 1.0
        # Sharded directions are gathered, made orthogonal whole, and divided again.
        shares = torch._foreach_lerp(group.gradients, averages, look_ahead)
        whole = [sharded_tensors.gathered_like(*pair) for pair in zip(shares, group.parameters, strict=True)]
        pairs = [*zip(whole, group.parameters, strict=True)]
        pieces = [piece for direction, parameter in pairs for piece in direction.split(self.matrices[parameter])]
        orthogonalise_all(pieces, self.polynomials)
        directions = [sharded_tensors.local(sharded_tensors.like(*pair)) for pair in pairs]
        if decay := group.settings["weight_decay"]:
            torch._foreach_add_(directions, group.weights, alpha=decay)
        torch._foreach_mul_(directions, rate)
        torch._foreach_sub_(group.weights, directions)


def hidden_matrices(model: nn.Module) -> dict[nn.Parameter, list[int]]:
    """The matrices of linear layers in blocks -> the rows of each matrix that they consist of."""
    found: dict[nn.Parameter, list[int]] = {}
    for name, module in model.named_modules():
        # The weight of a layer with an adapter is no parameter.
        if "blocks." in name and isinstance(module, nn.Linear) and isinstance(module.weight, nn.Parameter):
            found[module.weight] = [module.out_features]
    for attention in (module for module in model.modules() if isinstance(module, Attention)):
        weight = attention.projection.weight
        if isinstance(weight, nn.Parameter) and weight in found:
            found[weight] = list(attention.projection_sizes)
    return found


def orthogonalise_all(matrices: Sequence[Tensor], polynomials: Sequence[Polynomial]) -> None:
    """Replace each matrix, in place, by its orthogonal factor times its scale. Equal shapes share a call."""
    by_shape: dict[torch.Size, list[tuple[Tensor, float]]] = defaultdict(list)
    for matrix in matrices:
        rows, columns = matrix.shape
        # A matrix and its transpose share a shape. The iteration is cheaper for matrices with more columns than rows.
        wide = matrix if rows <= columns else matrix.T
        by_shape[wide.shape].append((wide, 0.2 * max(rows, columns) ** 0.5))
    for same_shape in by_shape.values():
        stack_NRC = torch.stack([matrix for matrix, _ in same_shape])
        orthogonal_NRC = newton_schulz(stack_NRC.to(torch.bfloat16 if stack_NRC.is_cuda else torch.float32), polynomials)
        for (matrix, factor), orthogonal in zip(same_shape, orthogonal_NRC.unbind(), strict=True):
            matrix.copy_(orthogonal).mul_(factor)


def newton_schulz(matrices_NRC: Tensor, polynomials: Sequence[Polynomial]) -> Tensor:
    """About U V^T for each matrix U S V^T with R <= C, by the quintic iteration of Jordan et al. (2024)."""
    x = matrices_NRC / matrices_NRC.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    # The Gram matrix has the squares of the singular values, for which bfloat16 is too coarse.
    if x.dtype == torch.float32 and x.shape[2] >= WIDE * x.shape[1]:
        return gram_polynomial(gram_matrices(x), polynomials) @ x
    for a, b, c in polynomials:
        gram = gram_matrices(x)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def gram_polynomial(gram_NRR: Tensor, polynomials: Sequence[Polynomial]) -> Tensor:
    """The P(X X^T) with which P(X X^T) X is what the steps make of X: a step multiplies X by A, and X X^T by A^2."""
    product: Tensor | None = None
    for number, (a, b, c) in enumerate(polynomials, 1):
        factor = torch.baddbmm(gram_NRR, gram_NRR, gram_NRR, beta=b, alpha=c)
        factor.diagonal(dim1=1, dim2=2).add_(a)
        product = factor if product is None else factor @ product
        if number < len(polynomials):
            gram_NRR = factor @ (gram_NRR @ factor)
    assert product is not None
    return product


def gram_matrices(x_NRC: Tensor) -> Tensor:
    """X X^T. On a CPU, torch multiplies by a transposed view on one thread only."""
    return x_NRC @ (x_NRC.mT if x_NRC.is_cuda else x_NRC.mT.contiguous())
