"""Tensors whose rows lie in several processes (torch's DTensor), and the whole tensors that checkpoints hold.

`whole`, `like` and `gathered_like` communicate, so that every process must call them.
"""

from torch import Tensor


def is_sharded(tensor: Tensor) -> bool:
    """Whether a tensor is a DTensor. Importing that class would take half as long as importing torch."""
    return hasattr(tensor, "full_tensor")


def whole(tensor: Tensor) -> Tensor:
    """The whole tensor, in every process. A tensor that is not sharded stays as it is."""
    return tensor.full_tensor() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def like(tensor: Tensor, reference: Tensor) -> Tensor:
    """A whole tensor, sharded like another one if that is sharded, else unchanged. Every process has the whole tensor."""
    if not is_sharded(reference):
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(reference, DTensor)
    on_device = tensor.to(reference.device)
    return distribute_tensor(on_device, reference.device_mesh, reference.placements, src_data_rank=None)


def local(tensor: Tensor) -> Tensor:
    """The share of this process, which changes the sharded tensor if it is changed in place. Does not communicate."""
    return tensor.to_local() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def gathered_like(share: Tensor, reference: Tensor) -> Tensor:
    """The whole tensor of which every process has a share as large as its share of `reference`."""
    if not is_sharded(reference):
        return share
    from torch.distributed.tensor import DTensor

    assert isinstance(reference, DTensor)
    mesh, placements = reference.device_mesh, reference.placements
    return DTensor.from_local(share, mesh, placements, shape=reference.shape, stride=reference.stride()).full_tensor()
