# SPDX-License-Identifier: Apache-2.0
"""IOzone's text output for the operations that its arguments ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.simulate.device import Device
from tests.simulate.jobs import SimulatedJob

KIB = 1024
COLUMNS = {
    "write": (0, "write"),
    "rewrite": (0, "write"),
    "read": (1, "read"),
    "reread": (1, "read"),
    "random read": (2, "randread"),
    "random write": (2, "randwrite"),
    "backward read": (3, "read"),
    "record rewrite": (4, "write"),
    "strided read": (5, "read"),
}
"""Operations that the table has columns for, in its order: the test of -i, fio's rw."""
_HEAD = """\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\t\tCompiled for 64 bit mode.
\t\tBuild: linux-AMD64

\tFile size set to {size} kB
\tRecord Size {record} kB
\tInclude close in write timing
\tInclude fsync in write timing
\tO_DIRECT feature enabled
\tCommand line used: iozone {command}
\tOutput is in kBytes/sec
\tTime Resolution = 0.000001 seconds.
\tProcessor cache size set to 1024 kBytes.
\tProcessor cache line size set to 32 bytes.
\tFile stride size set to 17 * record size.
"""
_TITLES = (
    "                                                              random    random     bkwd    record    stride"
    "                                    \n"
    "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read"
    "   fwrite frewrite    fread  freread\n"
)
_WIDTHS = (9, 9, 9, 9, 9, 9, 9, 9, 9)


@dataclass(frozen=True)
class IozoneRun:
    """What one run says, and how long it takes."""

    text: str
    seconds: float


def iozone_table(device: Device, arguments: Sequence[str], begin: float) -> IozoneRun:
    """Run the operations on the file named by -f, which is made and removed."""
    words = list(arguments)
    tests = {int(words[at + 1]) for at, word in enumerate(words) if word == "-i"}
    records = [int(words[at + 1].rstrip("k")) for at, word in enumerate(words) if word == "-r"]
    size = int(words[words.index("-s") + 1].rstrip("k"))
    path = Path(words[words.index("-f") + 1])
    path.touch()
    lines, spent = [], 0.0
    for record in records:
        figures = []
        for number, (test, rw) in enumerate(COLUMNS.values()):
            if test not in tests:
                figures.append(0)
                continue
            options = {"rw": rw, "bs": str(record * KIB), "size": str(size * KIB), "randseed": f"{number}"}
            job = SimulatedJob(f"iozone{number}", options, options, number)
            (load,) = device.make([job], begin + spent, [1e9])
            spent += load.ran_seconds
            figures.append(round(size / load.ran_seconds))
        row = "".join(f"{figure or '':>{width}}" for figure, width in zip(figures, _WIDTHS, strict=True))
        lines.append(f"{size:>16}{record:>8}{row}{' ' * 40}\n")
    path.unlink()
    head = _HEAD.format(size=size, record=records[0], command=" ".join(words))
    return IozoneRun(f"{head}{_TITLES}{''.join(lines)}\niozone test complete.\n", spent)
