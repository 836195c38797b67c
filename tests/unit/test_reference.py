# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference that are made from the code; `make lint` says whether they are what the code says."""

import reference

from ioatlas.model.units import words


def test_the_check_tells_which_page_is_old(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference, "DOCS", tmp_path)
    (tmp_path / "reference").mkdir()
    (tmp_path / "decisions").mkdir()
    marks = [f"<!-- {name}: {end} -->" for name in ("keys", "options", "layouts") for end in ("begin", "end")]
    for page in ("campaign.md", "product.md"):
        (tmp_path / "reference" / page).write_text("\n".join(marks))
    assert reference.main(["--check"]) == 3
    assert "journal.md" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


def test_every_command_has_a_section():
    text = reference.command_line()
    for name in ("lab list", "product show", *words("map plan resume show export compare tune import translate")):
        assert f"# ioatlas {name}\n" in text
