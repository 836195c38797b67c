# SPDX-License-Identifier: Apache-2.0
"""Help of a command with many options: in groups, and the rarer ones only when all are asked for."""

from __future__ import annotations

import click

from ioatlas.errors import UsageError
from ioatlas.model.options import ALIASES, ALLOWED

OPTION_GROUPS = {
    "What to measure": "profile campaign_file rw bs numjobs iodepth size prepare trace engine file_sizes "
    "directory_depth together clients client_range on_lost_client",
    "How long, how precise": "budget visits cells precision error grade max_visits window blocks",
    "What may be written": "read_only destroy overwrite answers",
    "What else is known": "product iperf drive facts",
    "Beside the plan": "like schema",
    "Results": "output metrics units verbose quiet open_report as_json dry_run yes help help_all",
}
REST = "Other options"
_RARE = (
    "trace engine error grade max_visits window blocks drive facts answers prepare iperf together client_range "
    "on_lost_client file_sizes directory_depth metrics"
)
RARE = frozenset(_RARE.split())
SHOWING_ALL = "ioatlas.help_all"


def _show_all(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[SHOWING_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _name(option: click.Option) -> str:
    """The name of an option; that of --help is click's own business."""
    return "help" if "--help" in option.opts else option.name or ""


class GroupedCommand(click.Command):
    """A command whose options stand under the headings of `OPTION_GROUPS`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, --help, and --help-all."""
        every = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options.",
        )
        return [*super().get_params(ctx), every]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError for an option of fio that stands in a campaign file, not on the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            if name in ("runtime", "time", "timeout", "duration"):
                remedy = "`--budget 5m` is the time that the campaign may take"
            elif name in ALIASES or name in ALLOWED:
                remedy = "set it in [sweep] of a campaign file: `ioatlas map --campaign FILE.toml`"
            else:
                raise
            raise UsageError("this is an option of fio", where=error.option_name, remedy=remedy) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {_name(option): record for option in options if (record := option.get_help_record(ctx))}
        if not ctx.meta.get(SHOWING_ALL):
            records = {name: record for name, record in records.items() if name not in RARE}
        groups = {heading: names.split() for heading, names in OPTION_GROUPS.items()}
        grouped = {name for names in groups.values() for name in names}
        groups[REST] = [name for name in records if name not in grouped]
        for heading, names in groups.items():
            rows = [records[name] for name in names if name in records]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows, col_max=26)
