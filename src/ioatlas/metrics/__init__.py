# SPDX-License-Identifier: Apache-2.0
"""What is measured now, for Prometheus."""
