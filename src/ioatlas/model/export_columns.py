# SPDX-License-Identifier: Apache-2.0
"""The columns of the table that `ioatlas export` writes: their names in their order."""

from __future__ import annotations

from ioatlas.model.words import words

FIXED = words("""
    target rw bs_bytes size_bytes numjobs iodepth direction kind n_visits bw_bytes_per_s bw_low bw_high iops
    lat_mean_ns lat_p99_ns lat_kind verdict method
""")
"""The columns every table has, in this order; their names never change."""
REST = words("""
    iops_low iops_high lat_mean_low_ns lat_mean_high_ns lat_p99_low_ns lat_p99_high_ns loop window_seconds
    cut_seconds n_discarded seeds notes limit limit_share limit_next limit_next_share limit_evidence
    limit_probability ceiling ceiling_bytes_per_s watts iops_per_watt bw_bytes_per_s_per_watt sharing state
    footprint_bytes written_before_bytes cell n_repeats bw_sd iops_sd lat_mean_sd_ns lat_p99_sd_ns n_clients
    client_bw_bytes_per_s client_low_bytes_per_s client_high_bytes_per_s jain_index skew_ms finish_spread_ms
    n_targets target_bw_bytes_per_s target_low_bytes_per_s target_high_bytes_per_s target_jain_index
    target_first_done target_last_done grade grade_reason
""")
"""The columns after the swept options. cell: its key. *_sd: standard deviation of imported repeats."""
FACTOR = "factor_"
"""Before the name of a factor in the name of its column."""
