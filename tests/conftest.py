# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a key and a runtime directory of their own, never those of whoever runs them."""

import atexit
import gc
import os
import shutil
import tempfile

_STATE = tempfile.mkdtemp(prefix="ioatlas-state-")
os.environ["XDG_STATE_HOME"] = _STATE
os.environ["XDG_RUNTIME_DIR"] = os.path.join(_STATE, "run")
os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)

# What collecting makes lives as long as the run: nothing of it is looked through again and again for garbage.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
