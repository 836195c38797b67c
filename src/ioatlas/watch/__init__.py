# SPDX-License-Identifier: Apache-2.0
"""A target that is measured again and again in small campaigns, and told of when it gets worse."""
