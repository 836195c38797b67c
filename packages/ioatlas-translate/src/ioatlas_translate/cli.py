# SPDX-License-Identifier: Apache-2.0
"""`ioatlas translate`: another tool's command line or file in fio's terms, with what is and is not the same."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._arguments import PathOrWord
from ioatlas.cli._output import say_json
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas_translate import TOOLS, translate
from ioatlas_translate.translation import render_fidelity

_STARTED_BY = {
    "crystaldiskmark": "diskspd 'diskspd -b1M -t1 -o8 -w0 -W0 -d5 -S -c1G x'",
    "kdiskmark": "fio 'fio --name=x --rw=read --bs=1m --iodepth=8 --direct=1 --runtime=5 --size=1g --ioengine=libaio'",
}
"""Programs with a window: their test SEQ1M Q8T1 in the language of the tool that they start."""
_OWN = ("--json", "-o", "--output", "-h", "--help", "--")


class _Quoted(click.Command):
    """A command line in quotes may begin with a dash: it stands right after the tool's name and is no option of
    ours.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = next((i for i, word in enumerate(args) if word.lower() in (*TOOLS, *_STARTED_BY)), None)
        if place is not None and (example := _STARTED_BY.get(args[place].lower())) and not ctx.resilient_parsing:
            raise UsageError(
                "tests are not translated by their names",
                where=args[place],
                remedy=f"write what it starts: SEQ1M Q8T1 is ioatlas translate {example}. Results: ioatlas import FILE",
            )
        if (
            place is not None
            and place + 1 < len(args)
            and args[place + 1].startswith("-")
            and args[place + 1] not in _OWN
        ):
            args = [*args[: place + 1], *args[place + 2 :], "--", args[place + 1]]
        return super().parse_args(ctx, args)


@click.command(cls=_Quoted)
@click.argument("tool", type=click.Choice(TOOLS, case_sensitive=False))
@click.argument("command_or_file", metavar="'COMMAND LINE OR FILE'", type=PathOrWord())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: jobs, fidelity, job_file, campaign_toml.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write job.fio, campaign.toml and fidelity.txt into this folder.",
)
def command(tool: str, command_or_file: str, as_json: bool, output: Path | None) -> None:
    """Translate a command line or file of TOOL into a fio job file, a campaign and a fidelity report.

    Every attribute is labelled exact, approximate (with the error) or not expressible, each with its reason. Paths of
    the source are
    shown but never carried over: the target is named when the load is run.

    \b
    Examples:
      ioatlas translate diskspd 'diskspd.exe -c1G -b4K -t8 -o8 -r -w33 -Sh -d60 C:\\test.dat'
      ioatlas translate iozone 'iozone -a -i 0 -i 1 -c -e -I -s 4g -r 64k'
      ioatlas translate vdbench parmfile.txt --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    translation = translate(tool, command_or_file)
    if as_json:
        say_json(translation.to_dict())
        return
    parts = {
        "job.fio": translation.job_file,
        "campaign.toml": translation.campaign_toml,
        "fidelity.txt": render_fidelity(translation),
    }
    if output is not None:
        from ioatlas_translate.campaign_text import render_campaigns

        parts |= {
            f"campaign-{number}.toml": text
            for number, text in enumerate(render_campaigns(translation), 1)
            if number > 1
        }
        with faults(IoAtlasError, "cannot write", where=str(output), remedy="name a folder you can write to"):
            output.mkdir(parents=True, exist_ok=True)
            for name, text in parts.items():
                (output / name).write_text(text, encoding="utf-8")
        click.echo(f"{output}: {', '.join(parts)}; {len(translation.jobs)} fio sections", err=True)
        click.echo(parts["fidelity.txt"], nl=False)
        return
    for name, text in parts.items():
        click.echo(f"# ---- {name}")
        click.echo(text)
