"""Samples of a language model at each evaluation, written to the run folder for its live page.

They are made on the CPU by a copy of the model, with a fixed seed. So the model in training and its random numbers are not
touched. Their cost is bounded: a few tokens, a share of the training time, and no large models.
"""

import time

import torch

from glasshouse.generation import text_stream
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import Completion
from glasshouse.models.base import Model
from glasshouse.records import sample_log
from glasshouse.records.checkpoint import Tensors
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.sample_log import KeptSample
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from glasshouse.training.replicas import TrainableModel

MOST_PROMPTS, MOST_TOKENS = 2, 40
# A larger model is not copied.
MOST_BYTES = 400_000_000
# Samples are left out as long as they have taken a larger share of the training time.
LARGEST_SHARE = 0.05
SAMPLING = Sampling(temperature=0.8, top_p=0.95, seed=0)
HOW = f"temperature {SAMPLING.temperature:g}, top-p {SAMPLING.top_p:g}, seed {SAMPLING.seed}"


class EvaluationSamples:
    """Makes the samples of runs that train together in this process."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.possible = job.spec.task == "next-token"
        self._copy: Model | None = None
        self._seconds = 0.0

    def is_due(self, training_seconds: float) -> bool:
        return self.possible and self._seconds <= LARGEST_SHARE * training_seconds

    def write(self, run: RunFolder, step: int, model: TrainableModel) -> None:
        """Write samples of a model in training to the run folder. A failure ends the samples, and not the training."""
        began = time.perf_counter()
        try:
            with model.evaluated_model() as evaluated:
                weights = evaluated.state_dict()
                if sum(tensor.nbytes for tensor in weights.values()) > MOST_BYTES:
                    self.possible = False
                    return
                made = self._make(weights)
            sample_log.add(run.path, [KeptSample(step, one.prompt, one.text, HOW) for one in made])
        except (GlasshouseError, OSError, RuntimeError):
            self.possible = False
        finally:
            self._seconds += time.perf_counter() - began

    def _make(self, weights: Tensors) -> list[Completion]:
        if self._copy is None:
            with torch.random.fork_rng(devices=[]):
                self._copy = self.job.model().eval()
        load_weights(self._copy, {name: tensor.cpu() for name, tensor in weights.items()}, "the model in training")
        settings, tokenizer = self.job.spec.evaluation, self.job.prepared.tokenizer
        prompts, count = settings.prompts[:MOST_PROMPTS] or ("",), min(settings.sample_tokens, MOST_TOKENS)
        made = [Completion(prompt, text_stream.encode_prompt(tokenizer, prompt)) for prompt in prompts]
        cached = self._copy.keeps_cache
        for _ in text_stream.stream(self._copy, tokenizer, made, SAMPLING, count, self.job.spec.data.context, cached=cached):
            pass
        return made
