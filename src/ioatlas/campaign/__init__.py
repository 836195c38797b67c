# SPDX-License-Identifier: Apache-2.0
"""The supervisor of a campaign: plan, design, engine and store put together; events out."""
