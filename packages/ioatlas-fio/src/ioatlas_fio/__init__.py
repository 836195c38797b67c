# SPDX-License-Identifier: Apache-2.0
"""Where the fio of this package lies, and which version it is."""

from pathlib import Path

PATH = str(Path(__file__).with_name("fio"))
VERSION = (3, 33)
