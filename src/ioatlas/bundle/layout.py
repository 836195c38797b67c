# SPDX-License-Identifier: Apache-2.0
"""Where everything stands in a bundle.

Format history (`format` in bundle.json and in the statement):
  1  first version.
"""

from __future__ import annotations

import re

from ioatlas.results.library import BUNDLE_ENDING, BUNDLE_INDEX
from ioatlas.store.tables import ORDER

FORMAT = 1
ENDING, INDEX = BUNDLE_ENDING, BUNDLE_INDEX
CRATE = "ro-crate-metadata.json"
PACKAGE = "datapackage.json"
CELLS, RESULT = "data/cells.csv", "data/result.json"
DERIVED = (INDEX, CRATE, PACKAGE, CELLS, RESULT)
"""What is made from the campaign's own files, and can be made anew."""
CAMPAIGN = "campaign/"
"""Before the names of the campaign's own files."""
TABLES = {f"journal/{name}.jsonl": name for name in ORDER}
MOST_TEXT = 64 << 20
_FILES = re.compile(
    r"campaign/(?:(?:campaign|testbed|product)\.toml|tune\.json|trace\.iolog|"
    r"(?:batches|layout|verify|trace|products|configurations)/[^/]+(?:/[^/]+){0,6})"
)


def belongs(name: str) -> bool:
    """Whether a bundle may hold a file of that name."""
    return name in DERIVED or name in TABLES or bool(_FILES.fullmatch(name))
