# SPDX-License-Identifier: Apache-2.0
"""Whether stated limits are right: simulated targets of random laws, then real ones with a known limit, mapped; the
table, what each answer rests on, and how often it was withheld.

One command: python bench/attribution/run.py   (root for the links and drives; ten minutes on a quiet machine)
The same as `ioatlas lab attribution --simulated 2000` and `ioatlas lab attribution`.
"""

import subprocess
import sys

COMMAND = [sys.executable, "-m", "ioatlas", "lab", "attribution"]

if __name__ == "__main__":
    if not sys.argv[1:]:
        subprocess.run([*COMMAND, "--simulated", "2000"], check=False)
    sys.exit(subprocess.run([*COMMAND, *sys.argv[1:]], check=False).returncode)
