# SPDX-License-Identifier: Apache-2.0
"""The manifest of pods that are clients."""

import json

import pytest

from ioatlas.fleet.kubernetes import Pods, as_yaml, manifest


def test_a_job_ends_by_itself_and_takes_its_volumes_with_it():
    made = manifest(Pods("bench", count=3, storage_class="fast", size="5Gi", hours=2, selector={"disk": "nvme"}))
    assert (made["kind"], made["spec"]["parallelism"], made["spec"]["activeDeadlineSeconds"]) == ("Job", 3, 7200)
    pod = made["spec"]["template"]["spec"]
    claim = pod["volumes"][0]["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert (claim["storageClassName"], claim["resources"]["requests"]["storage"]) == ("fast", "5Gi")
    assert pod["nodeSelector"] == {"disk": "nvme"}


def test_no_pod_has_an_open_server_or_rights():
    for pods in (Pods("a"), Pods("a", everywhere=True, claim="nas", cpu="2")):
        pod = manifest(pods)["spec"]["template"]["spec"]
        assert pod["containers"][0]["command"] == ["fio", "--server=127.0.0.1,8765"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert manifest(Pods("a", everywhere=True))["kind"] == "DaemonSet"
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "nas"}


def test_the_default_class_is_left_to_the_cluster():
    volume = manifest(Pods("a"))["spec"]["template"]["spec"]["volumes"][0]
    assert "storageClassName" not in volume["ephemeral"]["volumeClaimTemplate"]["spec"]


@pytest.mark.parametrize("value", [{"a": {"b": [{"c": "x: # y"}, "z"]}, "n": 3, "t": True, "e": {}}, {"k": 'a"b\\c'}])
def test_yaml_is_indented_json(value):
    """Each line is a key, a dash, or one of them with JSON behind it; nothing is left plain that YAML could misread."""
    for line in as_yaml(value).splitlines():
        text = line.strip().removeprefix("-").strip()
        behind = text.partition(": ")[2] if ": " in text and text[0] != '"' else text
        assert not behind or behind.endswith(":") or json.loads(behind) is not None
