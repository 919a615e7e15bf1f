"""Pictures of scenes: reproducible, and of the requested size."""

import numpy as np

from glasshouse.data.sources.scenes import pictures


def test_pictures_are_reproducible_and_have_the_requested_size(small_sources):
    documents = list(pictures.Scenes().documents("test"))
    assert all(document.picture.shape == (32, 32, 3) and document.picture.dtype == np.uint8 for document in documents)
    again = pictures.make_document("test", 7)
    assert again.text == documents[7].text
    assert np.array_equal(again.picture, documents[7].picture)
    assert pictures.make_document("test", 7, size=48).picture.shape == (48, 48, 3)
    assert pictures.Scenes(48).fingerprint() != pictures.Scenes().fingerprint()


def test_unseen_scenes_have_the_same_captions_and_one_blank_picture(small_sources):
    seen, unseen = (list(source.documents("test")) for source in (pictures.Scenes(), pictures.UnseenScenes()))
    assert [document.text for document in unseen] == [document.text for document in seen]
    assert {document.picture.tobytes() for document in unseen} == {np.full((32, 32, 3), pictures.BLANK, np.uint8).tobytes()}
    assert pictures.UnseenScenes().fingerprint() != pictures.Scenes().fingerprint()
