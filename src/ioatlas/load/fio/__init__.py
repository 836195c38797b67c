# SPDX-License-Identifier: Apache-2.0
"""All that is fio's: job files written, processes run, output and logs read back. The only room that starts fio."""
