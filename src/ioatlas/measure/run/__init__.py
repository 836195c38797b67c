# SPDX-License-Identifier: Apache-2.0
"""The runner of a campaign: batches, judging, journal, recovery."""
