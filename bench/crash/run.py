# SPDX-License-Identifier: Apache-2.0
"""Kill a campaign at random moments and see what is lost: `python bench/crash/run.py [--kills 50] [--seed 1]`.

A campaign on a directory of a real disk is killed with SIGKILL after random times, again and again, each time gone on
with `resume`.
After every kill: no fio of ours may run, no visit that was finished may be lost, another campaign's files may not have
changed. At the end the campaign is finished and nothing of it may be left on the target.
"""

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CAMPAIGN = """
visits = {visits}
window = "200ms"
[target]
path = "{target}"
[sweep]
rw = ["read", "randwrite"]
bs = ["4k", "64k", "1m"]
size = "64m"
numjobs = [1, 4]
"""


def finished(journal):
    """{visit_id: bytes of its parts} of every finished visit."""
    if not (journal / "journal.sqlite").exists():
        return {}
    link = sqlite3.connect(journal / "journal.sqlite")
    try:
        return dict(
            link.execute(
                "select v.visit_id, sum(p.io_bytes) from visit v join part p using (visit_id) where v.status in "
                "('done','discarded') group by 1"
            ).fetchall()
        )
    except sqlite3.OperationalError:
        return {}
    finally:
        link.close()


def on_disk(journal):
    """Batches whose output is on disk in full though the journal does not know them as done yet."""
    link = sqlite3.connect(journal / "journal.sqlite")
    try:
        rows = link.execute("select directory from batch where status='running'").fetchall()
    except sqlite3.OperationalError:
        rows = []
    finally:
        link.close()
    return [
        row[0]
        for row in rows
        if (journal / row[0] / "fio.json").exists()
        and (journal / row[0] / "fio.json").read_text().rstrip().endswith("}")
    ]


def our_fios(journal):
    """Pids of fio processes whose working directory is in the campaign."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "comm").read_text().strip() == "fio" and str(journal) in os.readlink(entry / "cwd"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def state_of(journal):
    """What the campaign was doing."""
    if not (journal / "journal.sqlite").exists():
        return "before the journal"
    if not any((journal / "batches").glob("*")):
        return "lay-out"
    return "in a batch" if our_fios(journal) else "between batches"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        target, journal = Path(place) / "share", Path(place) / "campaign"
        target.mkdir()
        other = target / ".ioatlas-0123456789ab"
        other.mkdir()
        (other / "shared.dat").write_bytes(os.urandom(1 << 20))
        digest = hashlib.sha256((other / "shared.dat").read_bytes()).hexdigest()
        file = Path(place) / "campaign.toml"
        file.write_text(CAMPAIGN.format(target=target, visits=options.kills))
        tool = [sys.executable, "-m", "ioatlas"]
        moments, lost, survivors, adopted = Counter(), 0, 0, 0
        for _ in range(options.kills):
            known = finished(journal)
            started = bool(known) or (journal / "journal.sqlite").exists()
            command = (
                [*tool, "resume", str(journal)]
                if started
                else [*tool, "map", "--campaign", str(file), "-o", str(journal)]
            )
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
            )
            try:
                process.wait(timeout=generator.uniform(0.3, 9.0))
                sys.exit(f"the campaign ended by itself ({process.returncode}): {process.stderr.read().decode()}")
            except subprocess.TimeoutExpired:
                pass
            moments[state_of(journal)] += 1
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.3)
            survivors += len(our_fios(journal))
            waiting = on_disk(journal) if (journal / "journal.sqlite").exists() else []
            adopted += len(waiting)
            after = finished(journal)
            lost += sum(after.get(key) != value for key, value in known.items())
            if hashlib.sha256((other / "shared.dat").read_bytes()).hexdigest() != digest:
                sys.exit("another campaign's file changed")
        known = finished(journal)
        # The rest of the campaign is made in one go, with as few visits as are left.
        link = sqlite3.connect(journal / "journal.sqlite")
        with link:
            link.execute("update visit set status='dropped' where status='planned' and block > 3")
        link.close()
        last = subprocess.run([*tool, "resume", str(journal)], capture_output=True, text=True, check=False)
        after = finished(journal)
        lost += sum(after.get(key) != value for key, value in known.items())
        left = sorted(str(p.relative_to(target)) for p in target.rglob("*") if other not in (p, *p.parents))
        print(f"kills: {options.kills}; {', '.join(f'{count} {what}' for what, count in moments.most_common())}")
        print(f"finished visits before the last resume: {len(known)}; after: {len(after)}; lost or changed: {lost}")
        print(f"batches whose output was complete and were taken up by the next start: {adopted}")
        print(f"fio still running 0.3 s after a kill: {survivors}")
        print(
            f"last resume: exit {last.returncode}; left on the target: {left or 'nothing'}; other campaign's file: "
            "unchanged"
        )
        return 1 if lost or survivors or left or last.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
