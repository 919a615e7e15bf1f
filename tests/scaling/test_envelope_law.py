"""The envelope of training curves."""

import numpy as np
import pytest

from glasshouse.scaling import envelope_law
from glasshouse.specs.errors import DataError

from .known_law import LAW, curves


def test_the_envelope_gives_the_exponent():
    found = envelope_law.fit(curves(0, tuple(np.geomspace(1e6, 1e9, 24)), noise=0.0), 100)
    assert found.exponent == pytest.approx(LAW.size_exponent, abs=0.05)
    assert np.isfinite(found.resampled).all()
    assert found.best_parameters(6e17)[0] == pytest.approx(LAW.best_parameters(1e17), rel=0.3)


def test_too_few_sizes_are_refused():
    with pytest.raises(DataError) as caught:
        envelope_law.fit(curves(0, (1e6, 1e8)), 10)
    assert isinstance(caught.value, DataError)


def test_an_envelope_of_one_size_is_refused():
    table = curves(0, (1e6, 1e7, 1e8))
    table.losses[:] = np.where(table.parameters == 1e6, 1.0, 2.0)
    with pytest.raises(DataError) as caught:
        envelope_law.fit(table, 10)
    assert isinstance(caught.value, DataError)
