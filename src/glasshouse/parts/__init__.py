"""The parts a Transformer is made of. Parts receive parts, and know nothing of tasks, training or who looks at them."""

from glasshouse.parts.attention.multi_head import MultiHeadAttention
from glasshouse.parts.block import Block
from glasshouse.parts.cache import KeyValueCache
from glasshouse.parts.connection import PostNorm, PreNorm
from glasshouse.parts.feed_forward import GELU, ReLU, SwiGLU
from glasshouse.parts.mask import Causal, Everything, Mask
from glasshouse.parts.normalisation import LayerNorm, RMSNorm
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.positions.learned import Learned
from glasshouse.parts.positions.rotary import Rotary
from glasshouse.parts.positions.sinusoidal import Sinusoidal
from glasshouse.parts.probe import Probe

__all__ = [
    "GELU",
    "Block",
    "Causal",
    "Everything",
    "KeyValueCache",
    "LayerNorm",
    "Learned",
    "Mask",
    "MultiHeadAttention",
    "NoPosition",
    "Position",
    "PostNorm",
    "PreNorm",
    "Probe",
    "RMSNorm",
    "ReLU",
    "Rotary",
    "Sinusoidal",
    "SwiGLU",
]
