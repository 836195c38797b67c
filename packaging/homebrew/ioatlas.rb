# SPDX-License-Identifier: Apache-2.0
# scripts/release writes version, hash and place of the release into a copy of this file.
class Ioatlas < Formula
  desc "Performance maps of storage: every cell with an interval and a verdict"
  homepage "https://pypi.org/project/ioatlas/"
  url "https://files.pythonhosted.org/packages/source/i/ioatlas/ioatlas-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "fio"
  depends_on :linux
  depends_on "python@3.13"

  def install
    python = Formula["python@3.13"].opt_bin/"python3.13"
    system python, "-m", "venv", libexec
    pip = [libexec/"bin/pip", "--disable-pip-version-check", "install"]
    # What the lock pins, by hash; the source archive holds the explorer.
    system(*pip, "--require-hashes", "-r", "requirements.txt")
    system(*pip, "--no-deps", "--no-build-isolation", buildpath)
    bin.install_symlink libexec/"bin/ioatlas"
    man1.install_symlink Dir[libexec/"share/man/man1/*.1"]
    generate_completions_from_executable(bin/"ioatlas", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ioatlas --version")
    (testpath/"target").mkpath
    system bin/"ioatlas", "map", testpath/"target", "--budget", "10s", "--yes", "-o", testpath/"campaign"
    assert_match "trust", shell_output("#{bin}/ioatlas show #{testpath}/campaign").downcase
  end
end
