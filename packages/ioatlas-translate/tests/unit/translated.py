# SPDX-License-Identifier: Apache-2.0
"""How tests look at what a command was translated to."""

from ioatlas_translate import translate
from ioatlas_translate.translation import Translation, job_to_dict


def jobs(tool: str, command: str) -> list[dict]:
    return [job_to_dict(job) for job in translate(tool, command).jobs]


def levels(translation: Translation, attribute: str) -> set[str]:
    return {entry.level for entry in translation.fidelity if entry.attribute == attribute}
