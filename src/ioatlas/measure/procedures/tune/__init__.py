# SPDX-License-Identifier: Apache-2.0
"""The search for the best numjobs x iodepth under a latency limit."""
