# SPDX-License-Identifier: Apache-2.0
"""What a campaign is asked to do: its file, its options, its profiles."""
