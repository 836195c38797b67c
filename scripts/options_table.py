# SPDX-License-Identifier: Apache-2.0
"""Write the table of options into docs/campaign.md and the JSON Schema beside it: `make schema`."""

import json
from pathlib import Path

from ioatlas.campaign.spec import campaign_schema
from ioatlas.model.options import ALLOWED

BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"


def table() -> str:
    rows = [f"| `{option.name}` | {option.summary} |" for option in ALLOWED.values()]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def main() -> None:
    docs = Path(__file__).parents[1] / "docs"
    page = docs / "campaign.md"
    text = page.read_text()
    head, rest = text.split(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")
    (docs / "campaign.schema.json").write_text(json.dumps(campaign_schema(), indent=2) + "\n")


if __name__ == "__main__":
    main()
