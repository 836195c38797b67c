# SPDX-License-Identifier: Apache-2.0
"""`ioatlas k8s`: pods of a Kubernetes cluster as clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ioatlas.cli._fold import say
from ioatlas.errors import UsageError


@click.group(
    name="k8s",
    epilog="""\b
Examples:
  ioatlas k8s manifest bench --pods 4 --storage-class fast --size 100Gi -o bench.yaml
  kubectl apply -f bench.yaml
  ioatlas k8s hosts bench -o hosts.toml
  ioatlas map /data --clients hosts.toml
  ioatlas k8s remove bench""",
)
def command() -> None:
    """Use pods of a Kubernetes cluster as clients."""


@command.command()
@click.argument("name")
@click.option("--pods", default=1, show_default=True, type=click.IntRange(1, 1000), help="How many pods.")
@click.option("--everywhere", is_flag=True, help="A pod on every node that is chosen (a DaemonSet).")
@click.option("--namespace", "-n", default="default", show_default=True, help="Namespace.")
@click.option("--image", default="ioatlas:latest", show_default=True, help="Image with fio; see Containerfile.")
@click.option("--storage-class", default="", metavar="NAME", help="Storage class of each pod's own volume.")
@click.option("--size", default="100Gi", show_default=True, help="Size of each pod's own volume.")
@click.option("--claim", default="", metavar="NAME", help="A claim that is there, shared by all pods.")
@click.option("--path", default="/data", show_default=True, help="Where the volume is mounted.")
@click.option("--node", "nodes", multiple=True, metavar="LABEL=VALUE", help="Take nodes with this label only.")
@click.option("--cpu", default="", help="Processors of each pod, as Kubernetes writes them.")
@click.option("--memory", default="", help="Memory of each pod, as Kubernetes writes it.")
@click.option("--hours", default=24.0, show_default=True, help="When a Job ends by itself.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File; standard output if none.")
def manifest(name: str, pods: int, nodes: tuple[str, ...], output: Path | None, **others: Any) -> None:
    """Write the manifest of a Job or DaemonSet with fio's server in each pod."""
    from ioatlas.fleet.kubernetes import Pods, as_yaml
    from ioatlas.fleet.kubernetes import manifest as made

    told = Pods(_name(name), count=pods, selector=_selector(nodes), **others)
    text = f"# Made by `ioatlas k8s`. `ioatlas k8s remove {name} -n {told.namespace}` takes it away.\n"
    text += as_yaml(made(told))
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    say(f"{output}: next `kubectl apply -f {output}`, then `ioatlas k8s hosts {name} -n {told.namespace}`")


@command.command()
@click.argument("name")
@click.option("--namespace", "-n", default="default", show_default=True, help="Namespace.")
@click.option("--pods", default=0, type=click.IntRange(0, 1000), help="Wait for so many; 0 for all that are there.")
@click.option("--wait", default=300.0, show_default=True, help="Seconds to wait until they are ready.")
@click.option("--path", default="", help="The target's path in the pods, when it differs from here.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("hosts.toml"),
    show_default=True,
    help="The hosts file.",
)
def hosts(name: str, namespace: str, pods: int, wait: float, path: str, output: Path) -> None:
    """Wait until the pods are ready, and write the hosts file that names them."""
    import json

    from ioatlas.fleet.kubernetes import ready_pods

    ready = ready_pods(_name(name), namespace, seconds=wait, count=pods)
    blocks = []
    for pod, node in ready.items():
        lines = ["[[host]]", f"pod = {json.dumps(f'{namespace}/{pod}')}" + (f"  # on {node}" if node else "")]
        blocks.append("\n".join([*lines, *([f"path = {json.dumps(path)}"] if path else [])]))
    output.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    say(f"{output}: {len(ready)} clients on {len(set(ready.values()))} nodes")


@command.command()
@click.argument("name")
@click.option("--namespace", "-n", default="default", show_default=True, help="Namespace.")
def remove(name: str, namespace: str) -> None:
    """Delete the Job or DaemonSet, its pods and the volumes that were made for them."""
    from ioatlas.errors import IoAtlasError
    from ioatlas.fleet.kubernetes import remove as removed

    left = removed(_name(name), namespace)
    if left:
        raise IoAtlasError(
            f"still there: {', '.join(left)}", where=f"{namespace}/{name}", remedy="see `kubectl describe` on them"
        )
    click.echo(f"{namespace}/{name}: nothing is left in the cluster")


def _name(name: str) -> str:
    import re

    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?", name):
        raise UsageError(f"{name!r} cannot name a Job", remedy="use small letters, digits and hyphens, 50 at most")
    return name


def _selector(nodes: tuple[str, ...]) -> dict[str, str]:
    wrong = [one for one in nodes if not one.partition("=")[2]]
    if wrong:
        raise UsageError(f"{wrong[0]!r} is no label of a node", where="--node", remedy="write LABEL=VALUE")
    return {label: value for label, _, value in (one.partition("=") for one in nodes)}
