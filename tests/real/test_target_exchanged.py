# SPDX-License-Identifier: Apache-2.0
"""Root measures a directory of another user, who exchanges what root made in it as fast as he can."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.real import exchanger
from tests.real.conftest import disk_directory, ioatlas
from tests.real.ssh_hosts import SSHD, SshHost
from tests.real.target_lab import Bench, run, wait_for

pytestmark = [pytest.mark.needs("root"), pytest.mark.unmeasured]
OTHER_USER = 12345
JOBS = 5
SWEEP = (
    'visits = 1\nwindow = "200ms"\nsharing = "private"\n[target]\npath = "{path}"\nname = "share"\n'
    '[sweep]\nrw = "randwrite"\nbs = ["64k", "256k"]\nsize = "1m"\ndirect = 0\nnumjobs = 5\n'
)


class Share:
    """A directory of another user, and what he would like root to write: a file of root's alone and one that is short,
    each by a link, a second name of a third (as where the kernel lets him make one), a loop device, and a pipe.
    """

    def __init__(self, place, bench):
        self.path, self.bait, root = place / "share", place / "share" / "bait", place / "root"
        for made in (self.path, self.bait, root):
            made.mkdir()
        root.chmod(0o700)
        self.precious = [root / name for name in ("file", "short", "linked", "image")]
        for one in self.precious:
            one.write_bytes(os.urandom(100 if one.name == "short" else 2 << 20))
            one.chmod(0o600)
        self._loop = bench.loop(self.precious[3])
        for client in ("", "client1.", "client2."):
            names = [self.bait / f"private.{client}{job}" for job in range(JOBS)]
            for name, leads in zip(names, (*self.precious[:2], self._loop), strict=False):
                name.symlink_to(leads)
            os.link(self.precious[2], names[3])
            os.mkfifo(names[4])
        for made in (self.path, self.bait):
            os.chown(made, OTHER_USER, OTHER_USER)
        self._before = self._digests()

    def _digests(self):
        subprocess.run(["blockdev", "--flushbufs", self._loop], check=True)
        return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in self.precious}

    def changed(self):
        now = self._digests()
        return [name for name, before in self._before.items() if now[name] != before]

    def check_end(self, done):
        """It ended as if nothing was, or was refused by a check; what could not be removed meanwhile is told."""
        if done.returncode != 0:
            # 4 once a load had begun: what was finished is kept.
            assert (done.returncode in (2, 4), "exchanged" in done.stderr) == (True, True), done.stderr
        else:
            left = [one.name for one in self.path.iterdir() if one.name != "bait"]
            assert all(f"Left on share: {name}: " in done.stderr for name in left), done.stderr

    def attacked(self, how, pid, measure):
        """What `measure` returns while the owner exchanges, and how often he did."""
        words = [sys.executable, exchanger.__file__, self.path, self.bait, OTHER_USER, how, pid]
        with subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as attacker:
            try:
                return measure(), int(attacker.communicate("\n", timeout=60)[0])
            finally:
                attacker.kill()


@pytest.fixture
def share(tmp_path):
    bench = Bench(tmp_path)
    with disk_directory() as place:
        yield Share(place, bench)
        bench.clear()


def measured(share, tmp_path, *more):
    file = tmp_path / "one.toml"
    file.write_text(SWEEP.format(path=share.path))
    return lambda: ioatlas("map", "--campaign", file, "--yes", "-o", tmp_path / "c", *more)


@pytest.mark.needs("losetup", "fio")
def test_a_directory_that_is_exchanged_leads_no_write_astray(share, tmp_path):
    done, count = share.attacked("alone", os.getpid(), measured(share, tmp_path))
    assert share.changed() == []
    assert count > 0, "he was at it"
    share.check_end(done)


@pytest.mark.long("fleet", "target")
@pytest.mark.needs("losetup", "fio")
@pytest.mark.skipif(SSHD is None, reason="there is no sshd (openssh-server)")
def test_nor_does_it_on_a_host_of_a_fleet(share, tmp_path):
    one = SshHost(tmp_path, "alpha")
    try:
        host = one.host()
        options = ", ".join(f'"{word}"' for word in host.options)
        hosts = tmp_path / "hosts.toml"
        hosts.write_text(
            f'[[host]]\nname = "alpha"\nssh = "{host.destination}"\nport = {host.port}\n'
            f'identity = "{host.identity}"\noptions = [{options}]\n'
        )
        done, count = share.attacked("served", one.process.pid, measured(share, tmp_path, "--clients", hosts))
        assert share.changed() == []
        assert count > 0, "he was at it"
        share.check_end(done)
    finally:
        one.stop()


@pytest.mark.needs("losetup", "fio", "mkfs.ext4")
def test_of_a_target_that_is_unmounted_meanwhile_nothing_is_left(tmp_path):
    bench = Bench(tmp_path)
    try:
        device = bench.loop(bench.image(128 << 20))
        run("mkfs.ext4", "-q", device)
        point = bench.mount(device)
        before = sorted(one.name for one in point.iterdir())
        file = tmp_path / "one.toml"
        file.write_text(SWEEP.format(path=point))

        def unmount():
            wait_for(lambda: any(point.glob(".ioatlas-*")) and exchanger.at_work(os.getpid(), True), 300)
            run("umount", "--lazy", str(point))

        with ThreadPoolExecutor(1) as beside:
            gone = beside.submit(unmount)
            done = ioatlas("map", "--campaign", file, "--yes", "-o", tmp_path / "c")
            gone.result()
        assert done.returncode in (2, 4), done.stderr
        assert str(point) in done.stderr
        assert list(point.iterdir()) == [], "below the mount point"
        run("mount", device, str(point))
        assert sorted(one.name for one in point.iterdir()) == before
    finally:
        bench.clear()
