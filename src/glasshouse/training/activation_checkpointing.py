"""Activation checkpointing: a block stores its inputs only, and computes its activations again in the backward pass.

The block's own `forward` is replaced, so that the names of its weights stay as they are.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from glasshouse.parts.block import Block


def blocks(model: nn.Module) -> list[Block]:
    return [module for module in model.modules() if isinstance(module, Block)]


def checkpoint_activations(model: nn.Module) -> None:
    modules: list[nn.Module] = [*blocks(model)]
    for block in modules:
        block.forward = _checkpointed(block.forward)


def _checkpointed(forward: Callable[..., Any]) -> Callable[..., Any]:
    def recomputed(*positional: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*positional, **named)
        return checkpoint(forward, *positional, use_reentrant=False, **named)

    return recomputed
