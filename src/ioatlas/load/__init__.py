# SPDX-License-Identifier: Apache-2.0
"""What makes the load and what is seen of the machines meanwhile."""
