# SPDX-License-Identifier: Apache-2.0
"""Several clients as one load: their hosts, how each is reached, one batch on all of them, what they gave together."""
