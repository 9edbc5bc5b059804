"""The presets: what is routine is placed without a person, and nothing dangerous passes, however it is put."""

from __future__ import annotations

import tomllib

import pytest

from hookrouter.permission_rules.judging import Call, CompiledRule, Judgement, Rules
from hookrouter.permission_rules.presets import preset_text
from support.shell_corpus import blocks, contexts

PRESETS = ("unattended-web", "python", "read-only")
DANGEROUS = {
    "rm -rf /": "deny",
    "rm -rf ~/work": "person",
    "rm -rf .git": "deny",
    "sudo ls": "deny",
    "git push --force": "deny",
    "git push origin main": "person",
    "npm publish": "person",
    "dd if=/dev/zero of=/dev/sda": "deny",
    "kubectl delete ns prod": "person",
    "terraform destroy": "person",
    "ssh prod reboot": "deny",
    "shutdown -h now": "deny",
    "crontab -r": "deny",
    "mkfs.ext4 /dev/sda1": "deny",
    "cp key ~/.ssh/authorized_keys": "deny",
    "tee -a ~/.bashrc": "deny",
}
"""Commands, and what the presets for work say to each of them alone."""


def rules(preset: str) -> Rules:
    found = tomllib.loads(preset_text(preset))["approvals"]["rules"]
    return Rules([CompiledRule(one["tool"], one["decide"]) for one in found])


def judged(preset: Rules, command: str) -> Judgement:
    return preset.judge(Call("Bash", {"command": command}, "/home/me/project", "/home/me/project"))


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_routine_is_placed_without_a_person(preset: str) -> None:
    lines = [block.line for block in blocks("routine.txt")]
    assert len(lines) >= 300
    ready = rules(preset)
    left = [line for line in lines if judged(ready, line).decide == "person"]
    assert len(left) <= len(lines) * 0.05, "\n".join(left)


@pytest.mark.parametrize("preset", ["unattended-web", "python"])
@pytest.mark.parametrize("command", DANGEROUS)
def test_nothing_dangerous_passes_in_any_form(preset: str, command: str) -> None:
    ready = rules(preset)
    assert judged(ready, command).decide == DANGEROUS[command]
    for context in contexts():
        line = context.text.replace("<ZZ>", command)
        found = judged(ready, line)
        assert found.decide in ("person", "deny"), line
        assert found.reading is not None
        if context.is_found and found.reading.certain and DANGEROUS[command] == "deny":
            assert found.decide == "deny", line


def test_the_forms_are_many() -> None:
    assert len(contexts()) * len(DANGEROUS) >= 400
