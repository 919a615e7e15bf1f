"""Whole models, built from parts. A model knows nothing about tasks or training."""

from glasshouse.models.build import assemble, build, check, initialise, one_block, without_weights
from glasshouse.models.decoder import Decoder
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.models.encoder import Encoder
from glasshouse.models.encoder_decoder import EncoderDecoder
from glasshouse.models.heads.classifier import ClassifierHead
from glasshouse.models.heads.contrastive import ContrastiveHead
from glasshouse.models.heads.masked_token import MaskedTokenHead
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.heads.pooled import PooledHead
from glasshouse.models.heads.regressor import RegressorHead
from glasshouse.models.heads.tagger import TaggerHead
from glasshouse.models.picture_decoder import PictureDecoder
from glasshouse.models.picture_encoder_decoder import PictureEncoderDecoder
from glasshouse.models.recurrent import Recurrent
from glasshouse.models.stack import TransformerStack

__all__ = [
    "ClassifierHead",
    "ContrastiveHead",
    "Decoder",
    "DualEncoder",
    "Encoder",
    "EncoderDecoder",
    "MaskedTokenHead",
    "NextTokenHead",
    "PictureDecoder",
    "PictureEncoderDecoder",
    "PooledHead",
    "Recurrent",
    "RegressorHead",
    "TaggerHead",
    "TransformerStack",
    "assemble",
    "build",
    "check",
    "initialise",
    "one_block",
    "without_weights",
]
