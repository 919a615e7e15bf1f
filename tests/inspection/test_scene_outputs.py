"""Outputs of varied quality for scenes: samples are reproducible."""

import glasshouse
from glasshouse.data.sources.scenes.translations import GermanScenes
from glasshouse.generation.sampling_options import Sampling
from glasshouse.inspection import scene_outputs


def test_samples_depend_only_on_the_seed_and_their_index(scene_translator):
    run = glasshouse.open_run(scene_translator, device="cpu")
    texts = [document.text for document in GermanScenes().documents("test")][:9]
    sampled = scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=3))
    assert sampled == scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=3), batch=4)
    assert sampled != scene_outputs.sample(run, texts, Sampling(temperature=1.0, seed=4))
    greedy = [n_best[0].text for n_best in run.translate(texts, beams=1)]
    assert scene_outputs.sample(run, texts, Sampling(temperature=0.0)) == greedy
