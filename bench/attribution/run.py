# SPDX-License-Identifier: Apache-2.0
"""Targets with a known limit, mapped, and what is attributed to them: the table, what each answer rests on, and how
often it was withheld.

One command: python bench/attribution/run.py   (the same as `ioatlas lab attribution`; root for the links and drives;
six to ten minutes)
"""

import subprocess
import sys

if __name__ == "__main__":
    sys.exit(subprocess.run(["ioatlas", "lab", "attribution", *sys.argv[1:]], check=False).returncode)
