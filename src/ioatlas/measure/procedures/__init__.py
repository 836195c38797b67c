# SPDX-License-Identifier: Apache-2.0
"""What a campaign may do, one folder each."""
