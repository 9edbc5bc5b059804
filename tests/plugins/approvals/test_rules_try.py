"""`hookrouter rules try`: the calls of the past, read from transcripts, run through the rules."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.cli.main import main
from hookrouter.permission_rules.judging import Call, CompiledRule, Rules
from hookrouter.permission_rules.rule import EVERY_TOOL, RUNNING, overlaps, parse
from hookrouter_approvals.rules_command import transcripts as reading
from hookrouter_approvals.rules_command.proposals import ByHand, plain_command
from hookrouter_approvals.rules_command.tally import Tally
from hookrouter_approvals.rules_command.transcripts import PastCall, Transcripts
from hookrouter_approvals.rules_command.trying import Trial
from support.past_transcripts import FOLDER, called, ended, prompted, session, write_sessions

REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def compiled(*rules: tuple[str, str]) -> Rules:
    return Rules([CompiledRule(*rule) for rule in rules])


def calls(folder: Path, since: float | None = None) -> list[PastCall]:
    return list(Transcripts(str(folder), since).calls())


def past(command: str, number: int = 0, **more: Any) -> PastCall:
    known = {"ended": reading.RAN, "mode": "default"} | more
    return PastCall("Bash", {"command": command}, FOLDER, FOLDER, id=f"toolu_{command}_{number}", **known)


def tried(rules: Rules, *found: PastCall, new: Rules | None = None, **more: Any) -> dict[str, Any]:
    trial = Trial(rules, new, **more)
    for call in found:
        trial.add(call)
    return trial.document()


@pytest.mark.parametrize(
    ("text", "is_error", "how"),
    [
        ("done", False, reading.RAN),
        ("Exit code 1\nfailed", True, reading.FAILED),
        (REFUSAL, True, reading.REFUSED),
        ("PreToolUse:Bash hook error: no", True, reading.STOPPED),
    ],
)
def test_how_a_call_ended(tmp_path: Path, text: str, is_error: bool, how: str) -> None:
    session(
        tmp_path / "p/s.jsonl",
        prompted("plan"),
        called("t1", "Bash", {"command": "ls"}),
        ended("t1", text, is_error=is_error),
    )
    assert calls(tmp_path) == [PastCall("Bash", {"command": "ls"}, FOLDER, FOLDER, how, "plan", "t1")]


def test_where_a_call_was_made_and_calls_without_a_result(tmp_path: Path) -> None:
    session(tmp_path / "s.jsonl", prompted(), called("t1", "Edit", {"file_path": "x"}, cwd=f"{FOLDER}/lib"))
    (call,) = calls(tmp_path)
    assert (call.folder, call.cwd, call.ended) == (FOLDER, f"{FOLDER}/lib", reading.OPEN)


def test_a_call_counts_once_though_a_forked_transcript_has_it_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        session(tmp_path / name / "s.jsonl", called("t1", "Bash", {"command": "ls"}), ended("t1"))
    assert len(calls(tmp_path)) == 1


def test_what_is_older_is_left_out(tmp_path: Path) -> None:
    session(
        tmp_path / "s.jsonl",
        called("t1", "Bash", {"command": "ls"}, timestamp="2026-01-01T00:00:00.000Z"),
        called("t2", "Bash", {"command": "ls"}, timestamp="2099-01-01T00:00:00.000Z"),
    )
    assert [call.id for call in calls(tmp_path, since=1.78e9)] == ["t2"]


def test_compressed_transcripts_and_such_as_end_in_the_middle(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(line) for line in (called("t1", "Bash", {"command": "ls"}), ended("t1"))).encode()
    whole = gzip.compress(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(whole)
    (tmp_path / "b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    found = Transcripts(str(tmp_path), None)
    assert [call.id for call in found.calls()] == ["t1"]
    assert [Path(path).name for path, _ in found.unreadable] == ["b.jsonl.gz", "c.jsonl.gz"]


def test_lines_that_are_too_long_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LONGEST_LINE", 2000)
    monkeypatch.setattr(reading, "_CHUNK", 100)
    session(
        tmp_path / "s.jsonl",
        called("t1", "Write", {"file_path": "x", "content": "y" * 5000}),
        called("t2", "Bash", {"command": "ls"}),
    )
    found = Transcripts(str(tmp_path), None)
    assert [call.id for call in found.calls()] == ["t2"]
    assert found.too_long == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["tool_use", "tool_result", "text"]) | VALUES,
        "id": st.sampled_from(["t1", "t2"]) | VALUES,
        "tool_use_id": st.sampled_from(["t1", "t2"]) | VALUES,
        "name": st.sampled_from(["Bash", "Edit", "Read", "WebFetch", "mcp__a__b"]) | VALUES,
        "input": st.dictionaries(st.sampled_from(["command", "file_path", "path", "url"]), VALUES, max_size=2) | VALUES,
        "content": VALUES,
        "is_error": VALUES,
    },
)
LINES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["assistant", "user"]) | VALUES,
        "cwd": VALUES,
        "timestamp": VALUES,
        "permissionMode": VALUES,
        "message": st.fixed_dictionaries({"content": st.lists(BLOCKS | VALUES, max_size=3)}) | VALUES,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES.map(json.dumps).map(str.encode) | st.binary(max_size=60), max_size=6))
def test_no_transcript_raises(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / "s.jsonl").write_bytes(b"\n".join(lines))
    trial = Trial(compiled(("Bash(git:*)", "allow"), ("Edit(/x)", "deny")), compiled(("*", "agent")))
    for call in Transcripts(str(tmp_path), None).calls():
        trial.add(call)
    found = trial.document()
    assert sum(found["decided"].values()) == found["calls"]
    json.dumps(found)


def test_who_would_have_decided() -> None:
    rules = compiled(
        ("Bash(git push:*)", "person"), ("Bash(git:*)", "allow"), ("Bash(rm:*)", "deny"), ("Bash(ps)", "agent")
    )
    lines = ("git status", "git push", "rm x", "ps", "cat x | head", "npm test", "git $x")
    found = tried(rules, *map(past, lines), past("git status", 1))
    assert found["decided"] == {"allow": 2, "deny": 1, "agent": 1, "person": 3, "unasked": 1}
    assert found["uncertain"] == 1
    assert {one["what"]: one["count"] for one in found["stops"]} == {
        "git push": 1,
        "npm test": 1,
        "git": 1,
        "not certain: an option that is not known, or a word that may be an option that runs something": 1,
    }
    assert found["unused"] == []


def test_what_another_config_changes() -> None:
    old, new = compiled(("Bash(make:*)", "agent"), ("Bash(ls)", "allow")), compiled(("Bash(make:*)", "allow"))
    found = tried(old, past("make a"), past("make b"), past("ls -l"), new=new)
    assert found["changes"] == [
        {"from": "agent", "to": "allow", "count": 2, "examples": ["Bash: make a", "Bash: make b"]}
    ]
    assert found["unused"] == ["Bash(ls)"]


def test_what_was_allowed_by_hand_is_proposed_the_narrowest_first() -> None:
    often = [past("npm test", number) for number in range(6)]
    alike = [past(f"cargo build {number}") for number in range(6)]
    widened = [past(f"rm file{number}") for number in range(9)]
    once = [past("make")]
    found = tried(compiled(("Bash(ls)", "allow")), *often, *alike, *widened, *once)
    assert [one["rule"] for one in found["proposals"]] == ["Bash(npm test)", "Bash(cargo build:*)"]


@pytest.mark.parametrize("program", ["python3.11", "/usr/bin/python3.12", "bash5", "nodejs", "shred", "killall", "nc"])
def test_of_what_runs_or_removes_whatever_it_is_told_only_whole_commands_are_proposed(program: str) -> None:
    found = tried(compiled(), *(past(f"{program} x.{number}") for number in range(9)))
    assert found["proposals"] == []


@pytest.mark.parametrize(
    "more", [{"ended": reading.REFUSED}, {"ended": reading.OPEN}, {"mode": "bypassPermissions"}, {"mode": ""}]
)
def test_what_no_person_has_allowed_is_not_proposed(more: dict[str, Any]) -> None:
    found = tried(compiled(), *(past("npm test", number, **more) for number in range(9)))
    assert found["proposals"] == []
    assert found["allowed_by_hand"] == 0


def test_what_hookrouter_saw_decided_counts_more_than_the_mode() -> None:
    many = [past("npm test", number) for number in range(9)]
    ids = {call.id for call in many}
    assert tried(compiled(), *many, by_others=ids)["proposals"] == []
    unknown = [call._replace(mode="") for call in many]
    assert tried(compiled(), *unknown, by_person=ids)["allowed_by_hand"] == 9


def test_files_pages_and_servers_are_proposed() -> None:
    found = []
    for number in range(5):
        found += [
            PastCall(
                "Write", {"file_path": f"{FOLDER}/docs/{number}.md"}, FOLDER, FOLDER, "ran", "default", f"w{number}"
            ),
            PastCall("Write", {"file_path": "/etc/passwd"}, FOLDER, FOLDER, "ran", "default", f"o{number}"),
            PastCall("WebFetch", {"url": "https://example.org/x"}, FOLDER, FOLDER, "ran", "default", f"f{number}"),
            PastCall("mcp__a__b", {}, FOLDER, FOLDER, "ran", "default", f"m{number}"),
        ]
    assert {one["rule"] for one in tried(compiled(), *found)["proposals"]} == {
        "Edit(/docs/**)",
        "WebFetch(domain:example.org)",
        "mcp__a__b",
    }


WORDS = st.sampled_from(["git", "push", "npm", "run", "build", "-f", "x", "rm", "*", "a:*", "--", "pu*"])
RULES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join).map("Bash({})".format).filter(
    lambda text: bool(text[5:-1].removesuffix(":*").split())
) | st.sampled_from(["Bash", "*", "Edit(/x)", "WebFetch(domain:a.org)", "mcp__a", "Monitor"])
DECIDED = st.sampled_from(["allow", "deny", "agent", "person"])


@given(
    st.lists(st.tuples(RULES, DECIDED), max_size=4),
    st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=4), st.integers(1, 12)), max_size=6),
)
def test_no_proposal_overlaps_a_refusing_rule(
    rules: list[tuple[str, str]], commands: list[tuple[list[str], int]]
) -> None:
    hand = ByHand()
    for words, count in commands:
        for _ in range(count):
            hand.command(plain_command(words), " ".join(words))
            hand.call("mcp__a__b", None)
    before = compiled(*rules)
    proposed = hand.proposals(before.rules)
    for one in proposed:
        for rule in before.rules:
            if rule.refuses and rule.rule.tool in (*RUNNING, EVERY_TOOL, "mcp__a"):
                assert not overlaps(parse(one.rule), rule.rule)
    after = compiled(*rules, *((one.rule, "allow") for one in proposed))
    for words, _ in commands:
        call = Call("Bash", {"command": " ".join(words)}, "/p", "/p")
        was, now = before.judge(call), after.judge(call)
        assert now.decide == was.decide or (was.decide == "person" and now.decide == "allow")
        refuses = [rule.text for rule in before.rules if rule.refuses]
        assert not (now.decide == "allow" and was.decide != "allow" and was.rule in refuses)


def test_what_is_rare_is_forgotten_first() -> None:
    tally = Tally(10)
    for number in range(100):
        tally.add("often", "example")
        tally.add(f"rare {number}", "")
    assert tally.most(limit=1) == [("often", 100, "example")]
    assert len(tally.most()) <= 11


def test_the_command(hookrouter_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hookrouter_home / "config.toml").write_text('[[approvals.rules]]\ntool = "Bash(git:*)"\ndecide = "allow"\n')
    new = tmp_path / "new.toml"
    new.write_text('[[approvals.rules]]\ntool = "Bash"\ndecide = "agent"\n')
    count = write_sessions(tmp_path / "t", 100_000)
    (tmp_path / "t" / "broken.jsonl").write_text('{"tool_use\n')
    words = ["rules", "try", "--days", "0", "--transcripts", str(tmp_path / "t"), "--config", str(new)]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["calls"], found["files"], found["broken"]) == (count, 2, 1)
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "With the other config:" in out
    assert "1 broken lines were passed over" in out
    assert main(["rules", "try", "--transcripts", "missing"]) == 2
    assert "missing: there is no such folder" in capsys.readouterr().err
