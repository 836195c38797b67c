# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG001 - the arguments are nbdkit's
"""An nbdkit plugin in memory whose flushes, reads and writes take a time drawn from a lognormal law of known p99.

nbdkit python slow.py p99_ms=8 sigma=0.4 on=flush [mib=64] [told=FILE]

A busy machine sleeps for longer: `told` gets the mean and the p99 in ms that were served.
"""

import math
import pathlib
import random
import time

API_VERSION = 2
_asked = {"p99_ms": "8", "sigma": "0.4", "on": "flush", "seed": "1", "told": "", "mib": "64"}
_data, _served = [], []


def config(key, value):
    _asked[key] = value


def config_complete():
    _data.append(bytearray(int(_asked["mib"]) << 20))
    random.seed(_asked["seed"])


def thread_model():
    import nbdkit

    return nbdkit.THREAD_MODEL_SERIALIZE_ALL_REQUESTS


def _wait(what):
    if _asked["on"] == what:
        sigma = float(_asked["sigma"])
        begin = time.monotonic()
        median = float(_asked["p99_ms"]) / 1000 / math.exp(2.3263 * sigma)
        time.sleep(random.lognormvariate(math.log(median), sigma))
        _served.append(1000 * (time.monotonic() - begin))


def close(handle):
    if _asked["told"] and _served:
        ordered = sorted(_served)
        with pathlib.Path(_asked["told"]).open("w") as file:
            file.write(f"{sum(ordered) / len(ordered)} {ordered[int(0.99 * len(ordered))]}")


def open(readonly):  # noqa: A001 - the name that nbdkit asks for
    return 1


def get_size(handle):
    return len(_data[0])


def can_flush(handle):
    return True


def can_multi_conn(handle):
    return True


def pread(handle, buffer, offset, flags):
    _wait("read")
    buffer[:] = _data[0][offset : offset + len(buffer)]


def pwrite(handle, buffer, offset, flags):
    _wait("write")
    _data[0][offset : offset + len(buffer)] = buffer


def flush(handle, flags):
    _wait("flush")
