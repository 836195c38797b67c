# SPDX-License-Identifier: Apache-2.0
"""The commands of `ioatlas atlas`, one file each; the core finds them by entry points."""
