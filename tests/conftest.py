# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a key of their own, never that of whoever runs them."""

import atexit
import os
import shutil
import tempfile

_STATE = tempfile.mkdtemp(prefix="ioatlas-state-")
os.environ["XDG_STATE_HOME"] = _STATE
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
