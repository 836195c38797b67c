# SPDX-License-Identifier: Apache-2.0
"""The other tests of the atlas again, over a real PostgreSQL."""

import pytest
from test_catalogue import *  # noqa: F403
from test_changes import *  # noqa: F403
from test_cheats import *  # noqa: F403
from test_fits import *  # noqa: F403
from test_mine import *  # noqa: F403
from test_moderation import *  # noqa: F403
from test_seen import *  # noqa: F403
from test_three_uses import *  # noqa: F403
from test_uploads import *  # noqa: F403

from postgresql import program

del test_what_is_no_sound_bundle_is_refused_and_leaves_nothing  # noqa: F821 - before there is anything for a database

pytestmark = [
    pytest.mark.unmeasured,
    pytest.mark.long("atlas"),
    pytest.mark.skipif(program("initdb") is None, reason="needs PostgreSQL"),
]
