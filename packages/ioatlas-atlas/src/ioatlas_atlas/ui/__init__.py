# SPDX-License-Identifier: Apache-2.0
"""Pages on loopback for the user of this machine: the library, reports, what runs now. It reads what commands read."""
