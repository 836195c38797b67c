# SPDX-License-Identifier: Apache-2.0
"""The schema, printed: `python -m ioatlas.report.page_format`."""

import sys

from ioatlas.report.page_format import schema_text

sys.stdout.write(schema_text())
