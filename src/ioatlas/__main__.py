# SPDX-License-Identifier: Apache-2.0
"""`python -m ioatlas`."""

from ioatlas.cli import main

if __name__ == "__main__":
    main()
