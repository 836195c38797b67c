# SPDX-License-Identifier: Apache-2.0
"""A simulated target: loads of fio and IOzone by a known law, in virtual time, with the files of the real ones."""
