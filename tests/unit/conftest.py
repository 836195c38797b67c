# SPDX-License-Identifier: Apache-2.0
"""What all unit tests share: linear algebra on one thread, and the same drawn examples in every run.

Where long tests are left out, a fifth of the examples is drawn. `pytest --hypothesis-profile new` draws others.
"""

import os
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.examples import FEW

# Set before numpy comes. A worker for each processor runs beside this one: threads of each would wait for each other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Hypothesis draws constants of the sources of what is imported by then: other tests before would mean other examples.
providers._get_local_constants = lambda: providers._local_constants
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("new", deadline=None)
settings.register_profile("few", settings.get_profile("steady"), max_examples=FEW)
settings.load_profile("steady")


def pytest_configure(config):
    if config.getoption("--long") == "none" and not config.getoption("--hypothesis-profile"):
        settings.load_profile("few")


@pytest.fixture(scope="module")
def no_law():
    """For tests of how campaigns go: no law is fitted to what they measured, which would take most of their time."""
    from ioatlas.answer.results import by_law

    with mock.patch.object(by_law, "fitted", return_value=None):
        yield


@pytest.fixture
def with_law():
    """For one test of a module that has `no_law`."""
    from ioatlas.answer.results import by_law
    from tests.unit.simulated import fitted_once

    with mock.patch.object(by_law, "fitted", fitted_once):
        yield


@pytest.fixture
def target(tmp_path):
    """An empty directory."""
    place = tmp_path / "target"
    place.mkdir()
    return place
