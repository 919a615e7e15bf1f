"""Whole models, built from parts. A model knows nothing about tasks or training."""

from glasshouse.models.base import Model, TextModel
from glasshouse.models.build import WithoutWeights, assemble, build, check, initialise, one_block
from glasshouse.models.decoder import Decoder
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.encoder import Encoder
from glasshouse.models.encoder_decoder import EncoderDecoder, WritingModel
from glasshouse.models.heads.classifier import ClassifierHead, RegressorHead, TaggerHead
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.heads.pooling import ContrastiveHead, PooledHead
from glasshouse.models.picture_writers import PictureDecoder, PictureEncoderDecoder
from glasshouse.models.recurrent import Recurrent
from glasshouse.models.stack import TransformerStack
