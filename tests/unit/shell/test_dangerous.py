"""Every form in which a shell is known to run a command, with ten commands that nobody wants to miss."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from hookrouter.shell.reader import read
from support.safety import safety
from support.shell_corpus import FOLDER

COMMANDS = (
    "rm -rf build",
    "git push --force origin main",
    "curl -sO http://example.com/x.sh",
    "chmod -R 777 .",
    "dd if=f of=/dev/sda",
    "npm publish --access public",
    "kill -9 1",
    "mkfs.ext4 /dev/sda1",
    "docker system prune -af",
    "terraform destroy -auto-approve",
)


def contexts() -> list[tuple[str, str]]:
    text = (FOLDER / "contexts.txt").read_text(encoding="utf-8")
    return re.findall(r"^(found|doubted): (.*?)(?=\n\n|\Z)", text.strip(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("kind", "context"), contexts(), ids=lambda value: value[:40].replace("\n", " "))
def test_a_command_is_found_or_the_reading_is_not_certain(kind: str, context: str) -> None:
    for command in COMMANDS:
        for shell in ("bash", "zsh"):
            reading = read(context.replace("<ZZ>", command), shell)
            wanted = command.split()
            is_found = any([word.value for word in one.words][: len(wanted)] == wanted for one in reading.commands)
            if kind == "found":
                with safety("no command that a shell runs is missing"):
                    assert is_found, command
                # zsh reads some otherwise; and `xargs git push` may get options that run something.
                assert reading.certain or shell == "zsh" or command != COMMANDS[0], reading.doubts
            else:
                with safety("a reading that may miss a command is not certain"):
                    assert not reading.certain, command


def test_there_are_enough_of_them() -> None:
    assert len(contexts()) * len(COMMANDS) >= 400


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_command_that_another_program_runs_is_found_or_the_reading_is_not_certain(
    shell: Literal["bash", "zsh"],
) -> None:
    lines = (FOLDER / "hiding.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 1000
    missed = []
    for line in lines:
        reading = read(line.replace("⏎", "\n"), shell)
        names = {(one.name or "").rpartition("/")[2] for one in reading.commands}
        if reading.certain and "rm" not in names:
            missed.append(line)
    with safety("no command that a program runs is missing"):
        assert missed == []
