"""The parts of a Transformer. A part receives other parts as arguments; it knows nothing about tasks or training."""

from glasshouse.faces import face
from glasshouse.parts.attention.additive import AdditiveAttention
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.attention.dot_product import GroupedQueryAttention, MultiHeadAttention, UnscaledAttention
from glasshouse.parts.attention.linformer import LinformerAttention
from glasshouse.parts.attention.local_window import LocalAttention
from glasshouse.parts.attention.no_attention import NoAttention
from glasshouse.parts.attention.performer import PerformerAttention
from glasshouse.parts.block import Block, CrossAttention
from glasshouse.parts.cache import Cache, Memory
from glasshouse.parts.connection import NoResidual, PostNorm, PreNorm
from glasshouse.parts.embeddings import NgramEmbedding, TokenEmbedding
from glasshouse.parts.feed_forward import GELU, ExactGELU, ReLU, SigmoidGELU, SingleLayerReLU, SquaredReLU, SwiGLU
from glasshouse.parts.masks import Causal, Everything, Mask, Padding, Prefix, Window
from glasshouse.parts.normalisation import BatchNorm, LayerNorm, NoNorm, RMSNorm
from glasshouse.parts.patch_embedding import Patches
from glasshouse.parts.positions.alibi import Alibi
from glasshouse.parts.positions.base import NoPosition, Position
from glasshouse.parts.positions.fixed_code import OneHot, Sinusoidal
from glasshouse.parts.positions.learned import Learned
from glasshouse.parts.positions.relative import BucketedBias, RelativeBias
from glasshouse.parts.positions.rotary import Rotary
from glasshouse.parts.probe import Probe
from glasshouse.parts.recurrence import Cell, GRUCell, IdentityCell, LSTMCell, Recurrence, ReLUCell, TanhCell

__getattr__, __dir__ = face(__name__, {"models.part_list": "part_families parts_of", "parts.capabilities": "CAPABILITIES"})
