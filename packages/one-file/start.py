# SPDX-License-Identifier: Apache-2.0
"""Where the one file starts: ioatlas, or the Python that ioatlas starts for itself (`-m MODULE`, `-I SCRIPT`)."""

import runpy
import sys

if sys.argv[1:2] == ["-m"]:
    module, sys.argv = sys.argv[2], sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
elif sys.argv[1:2] == ["-I"]:
    script, sys.argv = sys.argv[2], sys.argv[2:]
    runpy.run_path(script, run_name="__main__")
else:
    from ioatlas.cli import main

    sys.exit(main())
