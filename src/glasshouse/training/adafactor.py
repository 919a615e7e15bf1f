"""Adafactor: the second moments of a matrix as a row and a column (Shazeer and Stern 2018), as torch implements it."""

from typing import ClassVar

import torch
from torch import nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training.optimisers import Optimiser, parameter_groups, trained


class Adafactor(Optimiser):
    """The gradient divided by the root of a rank-1 estimate of its squares, clipped to unit root mean square.

    The learning rate is relative: an update is at most `training.learning_rate` times the root mean square of its parameter.
    The paper's is 0.01. There is no first moment, so the state of a matrix is one row and one column.
    """

    unsupported: ClassVar[Unsupported] = {
        "shards": "Adafactor's row and column are means over a whole matrix; choose training.parallel=replicate, or another "
        "optimiser",
        "replicas": "torch's Adafactor reads numbers of each parameter on the CPU",
    }

    @staticmethod
    def build(model: nn.Module, training: TrainingSpec) -> torch.optim.Optimizer:
        return torch.optim.Adafactor(parameter_groups(model, training, tensor_rates=False), lr=0.0)

    @staticmethod
    def state_numbers(model: nn.Module, training: TrainingSpec) -> int:
        matrices = [parameter for parameter in trained(model) if parameter.dim() >= 2]
        vectors = sum(parameter.numel() for parameter in trained(model) if parameter.dim() < 2)
        return vectors + sum(one.numel() // one.shape[-1] + one.numel() // one.shape[-2] for one in matrices)
