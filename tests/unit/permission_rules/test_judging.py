"""Who decides on a call: what it does, part by part, and the strictest of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.config import ApprovalRule, Config, ProjectRules
from hookrouter.permission_rules import judging
from hookrouter.permission_rules.judging import Call, CompiledRule, Judgement, Rules, with_project

RULES = Rules(
    [
        CompiledRule("Bash(rm:*)", "deny"),
        CompiledRule("Bash(git push:*)", "person"),
        CompiledRule("Edit(/secret/**)", "deny"),
        CompiledRule("Read(.env)", "deny"),
        CompiledRule("Bash(git:*)", "allow"),
        CompiledRule("Bash(npm:*)", "allow"),
        CompiledRule("Bash(tail:*)", "allow"),
        CompiledRule("Bash(cat:*)", "allow"),
        CompiledRule("Bash(cp:*)", "allow"),
        CompiledRule("Bash(sed:*)", "allow"),
        CompiledRule("Bash(tee:*)", "allow"),
        CompiledRule("Bash(cd:*)", "allow"),
        CompiledRule("Bash(make:*)", "agent"),
        CompiledRule("Edit(/build/**)", "allow"),
        CompiledRule("Edit(/src/**)", "agent"),
        CompiledRule("WebFetch(domain:evil.com)", "deny"),
        CompiledRule("WebFetch(domain:*.org)", "allow"),
    ]
)


def judged(tool: str, folder: str = "/project", rules: Rules = RULES, cwd: str = "", **tool_input: Any) -> Judgement:
    return rules.judge(Call(tool, tool_input, folder, cwd or folder))


@pytest.mark.parametrize(
    ("command", "decide"),
    [
        ("git status", "allow"),
        ("npm test 2>&1 | tail -5", "allow"),
        ("npm test 2>&1 | tail -5; rm -rf build", "deny"),
        ("git commit -m \"$(cat <<'EOF'\nrm -rf / is no more\nEOF\n)\"", "allow"),
        ("git -C lib push", "person"),
        ('for f in a b; do git add "$f"; done', "allow"),
        ('for f in a b; do rm "$f"; done', "deny"),
        ("npm test && make", "agent"),
        ("npm test && make && frobnicate", "person"),
        ("git $command", "person"),
        ("$command", "person"),
        ('eval "$x"', "person"),
        ("timeout 60 npm test", "allow"),
        ("bash -c 'npm test'", "allow"),
        ("sudo npm test", "person"),
        ("git log | xargs rm", "deny"),
        # Files that the shell opens are edits and reads.
        ("npm test > build/log.txt", "allow"),
        ("npm test > log.txt", "person"),
        ("npm test > src/log.txt", "agent"),
        ("npm test > secret/log.txt", "deny"),
        ("npm test > build/../secret/log.txt", "deny"),
        ("npm test > build/$name", "person"),
        ("npm test 2>/dev/null >&2", "allow"),
        ("cd secret && npm test > log.txt", "deny"),
        ("(cd secret); npm test > log.txt", "person"),
        ('cd "$x" && npm test > build/log.txt', "person"),
        ("cat < .env", "deny"),
        ("cat < other", "allow"),
        # So are those of programs that are known.
        ("cat a .env", "deny"),
        ('cat "$x"', "allow"),
        ("cat < $x", "person"),
        ('cat "secret/$x"', "allow"),
        ('cat ".en$x"', "person"),
        ("npm test > build/log.$$", "allow"),
        ("npm test > build/log.$$/../../secret/x", "person"),
        ("npm test > secret/log.$$", "person"),
        ("npm test > build/../secret/log.$$", "person"),
        ("npm test > other.$$", "person"),
        ('npm test > "$x"', "person"),
        ('cp a "$x"', "person"),
        ('cp "$x" secret', "person"),
        ("cp -l secret/a b", "deny"),
        ("rm -- -x", "deny"),
        ("tee -- secret/x", "deny"),
        ("CDPATH=/x cd a && npm test > build/x", "person"),
        ("HOME=/project/secret; npm test > ~/x", "person"),
        ("find . -delete", "deny"),
        ("find . -name x -delete", "person"),
        ("cp a secret/b", "deny"),
        ("cp key secret", "deny"),
        ("cp -t secret key", "deny"),
        ("cp .env b", "deny"),
        ("cp a b", "allow"),
        ("cp a build/b", "allow"),
        ("cp a src/b", "agent"),
        ("sed -i s/a/b/ secret/x", "deny"),
        ("sed s/a/b/ secret/x", "allow"),
        ("npm test | tee secret/log", "deny"),
        ("npm test | tee log", "allow"),
        ("", "person"),
    ],
)
@pytest.mark.parametrize("tool", ["Bash", "Monitor"])
def test_a_command_line(tool: str, command: str, decide: str) -> None:
    found = judged(tool, command=command)
    assert found.decide == decide, found.parts


@pytest.mark.parametrize(
    ("tool", "tool_input", "decide", "rule"),
    [
        ("Edit", {"file_path": "/project/secret/key"}, "deny", "Edit(/secret/**)"),
        ("Write", {"file_path": "/project/secret/key"}, "deny", "Edit(/secret/**)"),
        ("MultiEdit", {"file_path": "/project/secret/key"}, "deny", "Edit(/secret/**)"),
        ("NotebookEdit", {"notebook_path": "/project/secret/key.ipynb"}, "deny", "Edit(/secret/**)"),
        ("Write", {"file_path": "/project/build/x"}, "allow", "Edit(/build/**)"),
        # The client takes the blanks around a path away.
        ("Write", {"file_path": " /project/secret/key\n"}, "deny", "Edit(/secret/**)"),
        ("Write", {"file_path": "secret//key"}, "deny", "Edit(/secret/**)"),
        ("Glob", {"pattern": "/project/secret/*"}, "person", ""),
        ("Read", {"file_path": "\u00a0.env "}, "deny", "Read(.env)"),
        ("Write", {"file_path": 3}, "person", "Edit(/secret/**)"),
        ("Write", {"file_path": "/project/x"}, "person", ""),
        ("Read", {"file_path": ".env"}, "deny", "Read(.env)"),
        ("Grep", {"path": ".env"}, "deny", "Read(.env)"),
        ("PowerShell", {"command": "rm x"}, "person", "Bash(rm:*)"),
        ("WebFetch", {"url": "https:/evil.com"}, "deny", "WebFetch(domain:evil.com)"),
        ("WebFetch", {"url": "https://evil%2ecom/"}, "deny", "WebFetch(domain:evil.com)"),
        ("WebFetch", {"url": "https://x.evil.com/"}, "deny", "WebFetch(domain:evil.com)"),
        ("WebFetch", {"url": "evil.com"}, "person", "WebFetch(domain:evil.com)"),
        ("WebFetch", {"url": "https://a.org/x?y#z"}, "allow", "WebFetch(domain:*.org)"),
        ("WebFetch", {"url": "https:/a.org/"}, "person", ""),
        ("WebFetch", {"url": "https://me@a.org/"}, "person", ""),
        ("Task", {}, "person", ""),
    ],
)
def test_other_tools(tool: str, tool_input: dict[str, Any], decide: str, rule: str) -> None:
    found = judged(tool, **tool_input)
    assert (found.decide, found.rule) == (decide, rule)


def test_the_parts_say_which_rule_decides_on_which() -> None:
    command = "npm test > build/x; git push"
    found = judged("Bash", command=command)
    assert [(part.kind, command[part.start : part.end], part.decide, part.rule) for part in found.parts] == [
        ("command", "npm test", "allow", "Bash(npm:*)"),
        ("write", "build/x", "allow", "Edit(/build/**)"),
        ("command", "git push", "person", "Bash(git push:*)"),
    ]
    (doubted,) = (part for part in judged("Bash", command="git $x").parts if part.kind == "command")
    assert (doubted.decide, doubted.rule, doubted.certain) == ("person", "Bash(git push:*)", False)


def test_of_rules_that_may_be_about_it_the_answer_is_theirs_if_they_agree() -> None:
    first, second = CompiledRule("Bash(git push:*)", "deny"), CompiledRule("Bash(git:*)", "deny")
    assert judged("Bash", rules=Rules([first, second]), command="git $x").decide == "deny"
    second = CompiledRule("Bash(git:*)", "allow")
    assert judged("Bash", rules=Rules([first, second]), command="git $x").decide == "person"


def test_a_tilde_with_more_behind_it_is_not_the_users_home() -> None:
    rules = Rules(
        [
            CompiledRule("Edit(/secret/**)", "deny"),
            CompiledRule(f"Read(/{Path('~root').expanduser()}/**)", "deny"),
            CompiledRule("Edit(~/secret/**)", "allow"),
            CompiledRule("Bash(cat:*)", "allow"),
        ]
    )
    assert judged("Bash", rules=rules, command="cat a > ~/secret/x").decide == "allow"
    assert judged("Bash", rules=rules, command="cat a > ~+/secret/x").decide == "deny"
    assert judged("Bash", rules=rules, command="PWD=/etc; cat a > ~+/secret/x").decide == "person"
    assert judged("Bash", rules=rules, command="cat a > ~-/secret/x").decide == "person"
    assert judged("Bash", rules=rules, command="cat ~root/x").decide == "person"


def test_what_is_below_pwd_is_below_the_shells_folder() -> None:
    rules = Rules(
        [
            CompiledRule("Read(/secret/**)", "deny"),
            CompiledRule("Edit(/secret/**)", "deny"),
            CompiledRule("Bash", "allow"),
        ]
    )
    for command in ('cat "$PWD/secret/x"', "cat ${PWD}/secret/*", "cd lib; rm $PWD/../secret/x", "PWD=/etc; rm $PWD/x"):
        assert judged("Bash", rules=rules, command=command).decide == "person", command
    for command in ('cat "$PWD/x"', "touch $PWD/build/x"):
        assert judged("Bash", rules=rules, command=command).decide == "allow", command


def test_a_link_out_of_the_folder_is_not_granted_and_no_link_leads_round_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "build" / "etc").symlink_to("/etc")
    folder = str(tmp_path)
    assert judged("Write", folder, file_path=f"{folder}/build/out/key").decide == "deny"
    assert judged("Bash", folder, command="npm test > build/out/key").decide == "deny"
    assert judged("Write", folder, file_path=f"{folder}/build/etc/passwd").decide == "person"
    assert judged("Write", folder, file_path=f"{folder}/build/new").decide == "allow"


def test_a_path_goes_up_from_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "secret" / "sub").mkdir(parents=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "link").symlink_to(tmp_path / "secret" / "sub")
    folder = str(tmp_path)
    assert judged("Bash", folder, command="npm test > build/link/../key").decide == "deny"
    assert judged("Write", folder, file_path=f"{folder}/build/link/../key").decide == "person"


@pytest.mark.parametrize(
    "command",
    [
        "ln -s secret build/x",
        "curl -so secret/x https://a.org",
        "curl -s -o secret/x https://a.org",
        "wget --output-document=secret/x https://a.org",
        "sort a -o secret/x",
        "dd if=a of=secret/x",
        "gcc -osecret/x a.c",
        "find . -name x -fprint secret/x",
        "install -m 600 key secret",
        "env tee secret/x",
        "ls | tee a secret/x",
        "touch ./build/../secret/x",
        "truncate -s 0 secret/x",
        "sort --outp=secret/x a",
        "sort --outp secret/x a",
        "uniq a secret/x",
        "uniq -f 1 a secret/x",
        "xxd -r -p a secret/x",
        "tree -o secret/x",
        "yq -i .a=1 secret/x",
        "git diff --output=secret/x",
        "git -C . log --output secret/x",
        "env time -o secret/x ls",
        "git mv a secret/x",
        "git rm -r secret",
        "gzip secret/x",
        "zip -q secret/x a",
        "patch secret/x a",
        "terraform plan -out=secret/x",
        "GIT_TRACE=/project/secret/x git status",
        "export GIT_TRACE=/project/secret/x; git status",
        "env GIT_TRACE2_EVENT=/project/secret/x git status",
        "SSLKEYLOGFILE=/project/secret/x curl https://a.org",
        "awk '{print > \"secret/x\"}' a",
        'awk \'{printf "%s > 1", $1 >> "secret/x"; x = 1}\' a',
        "tar cf secret/x a",
        "tar -czf secret/x a",
        "tar --create --file=secret/x a",
        "cp --target-directory=secret x",
        "cp --target secret x",
        "cp -tsecret x",
        "cp -vt secret x",
        "mv -tsecret x",
        "mv --target-directory=secret x",
        "ln --target-directory=secret x",
        "install -m 600 -tsecret x",
        "cp a secret/x --suffix b",
        "rsync -t a secret/x",
        "rsync -a a/ secret/ --exclude b",
        "cp -r a/secret .",
        "cp -a a/. .",
        "cp -R a/ ./",
        "cp -r ../other/project ..",
    ],
)
def test_programs_that_write_where_they_are_told(command: str) -> None:
    rules = Rules([CompiledRule("Edit(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    assert judged("Bash", rules=rules, command=command).decide == "deny"


def test_a_path_of_which_the_end_is_not_known_is_compared_by_where_its_folder_lies(tmp_path: Path) -> None:
    rules = Rules(
        [
            CompiledRule("Edit(/secret/**)", "deny"),
            CompiledRule("Read(/secret/**)", "deny"),
            CompiledRule("Bash", "allow"),
        ]
    )
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    folder = str(tmp_path)
    for path in ("secret/", "./secret/", f"../{tmp_path.name}/secret/", "a/../secret/", "link/"):
        for command in (f"cat {path}*", f"rm {path}*", f"tar xf a -C {path}", f"unzip -q a -d {path}"):
            assert judged("Bash", folder, rules, command=command).decide == "person", command
    for command in ("cat ./*.py", "cat src/*", "tar xf a -C .", "tar xf a -C build", "rm ./build/*"):
        assert judged("Bash", folder, rules, command=command).decide == "allow", command


def test_what_xargs_and_find_replace_keeps_what_stands_before_it() -> None:
    rules = Rules([CompiledRule("Read(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    for command in (
        "ls secret | xargs -I{} cat secret/{}",
        "find . -exec cat secret/{} \\;",
        "xargs -I x cat secret/$a",
    ):
        assert judged("Bash", rules=rules, command=command).decide == "person", command
    assert judged("Bash", rules=rules, command="xargs -I{} cat build/{}").decide == "allow"


@pytest.mark.parametrize(
    "program",
    [
        "{print > $1}",
        '{print ")" > "secret/x"}',
        '{print /"/ > "secret/x"}',
        '{print /[;]/ > "secret/x"}',
        '{print "a" \\\n > "secret/x"}',
        '{print "a" > "secr" "et/x"}',
        '{print "a" > ("secret/x")}',
        "{x = 1}" * 1000,
    ],
)
def test_an_awk_program_that_may_print_into_a_file(program: str) -> None:
    rules = Rules([CompiledRule("Edit(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    assert judged("Bash", rules=rules, command=f"awk '{program}' a").decide in ("deny", "person")


@pytest.mark.parametrize(
    "command",
    [
        "xargs -a secret/x echo",
        "wc --files0-from=secret/x",
        "git config -f secret/x --list",
        "shuf secret/x",
        "xargs --arg-file=secret/x echo",
        "date -f secret/x",
        "date --fil secret/x",
        "grep --file=secret/x a",
        "hostname -F secret/x",
        "ss -F secret/x",
        "git diff --no-index a secret/x",
        "git -C . grep --no-index a secret/x",
        "git blame --contents secret/x a",
    ],
)
def test_programs_that_show_what_they_are_told(command: str) -> None:
    rules = Rules([CompiledRule("Read(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    assert judged("Bash", rules=rules, command=command).decide == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "uniq secret/x",
        "xxd -l 16 secret/x",
        "gzip -dc secret/x",
        "xz --list secret/x",
        "git log -p secret/x",
        "tar tf secret/x",
        "tar -xzf secret/x",
        "tar xf a -C build",
        "awk '$1 > 2 { print ($1 > 3), \"a > b\" }' secret/x",
    ],
)
def test_programs_that_only_read(command: str) -> None:
    rules = Rules([CompiledRule("Edit(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    assert judged("Bash", rules=rules, command=command).decide == "allow"


def test_a_rule_for_all_commands_says_nothing_of_a_commands_own_files() -> None:
    rules = Rules([CompiledRule("Bash(mkdir:*)", "allow"), CompiledRule("Bash", "agent"), CompiledRule("*", "deny")])
    assert judged("Bash", rules=rules, command="mkdir x").decide == "allow"
    assert judged("Bash", rules=rules, command="mkdir x > y").decide == "agent"


def test_what_is_done_to_a_folder_is_done_to_what_is_in_it() -> None:
    rules = Rules([CompiledRule("Edit(/secret/**)", "deny"), CompiledRule("Bash", "allow")])
    for command in ("rm -rf secret", "rm -rf .", "mv secret other", "chmod -R 777 ../project"):
        assert judged("Bash", rules=rules, command=command).decide == "deny", command
    for command in ("rm -rf build", "cp -r a .", "cp -r a/x/ build", "cp -r secret build", "cp a -S b c"):
        assert judged("Bash", rules=rules, command=command).decide == "allow", command


def test_where_file_names_take_no_account_of_case_a_refusal_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [("Edit(/Secrets/**)", "deny"), ("Bash(rm:*)", "deny"), ("Edit(/build/**)", "allow")]
    assert (
        judged("Write", rules=Rules([CompiledRule(*one) for one in rules]), file_path="secrets/key").decide == "person"
    )
    monkeypatch.setattr(judging, "is_darwin", True)
    mac = Rules([CompiledRule(*one) for one in rules])
    assert judged("Write", rules=mac, file_path="secrets/key").decide == "deny"
    assert judged("Write", rules=mac, file_path="SECRETS/key").decide == "deny"
    assert judged("Bash", rules=mac, command="RM -rf x").decide == "deny"
    assert judged("Write", rules=mac, file_path="Build/x").decide == "person"


STRICTNESS = ["allow", "agent", "person", "deny"]
COMMANDS = st.sampled_from(
    ["git status", "make", "rm x", "git push", "$x", "npm test > secret/x", "cat .env", "frobnicate"]
)


@given(st.lists(COMMANDS, min_size=1, max_size=4), st.sampled_from(["; ", " && ", " | ", " || ", "\n", " & "]))
def test_a_line_gets_the_strictest_of_what_its_commands_get(commands: list[str], between: str) -> None:
    alone = [judged("Bash", command=command).decide for command in commands]
    assert judged("Bash", command=between.join(commands)).decide == max(alone, key=STRICTNESS.index)


@given(
    st.sampled_from(["Bash", "Write", "Read", "WebFetch", "Task", "Grep", "Monitor", "PowerShell"]),
    st.dictionaries(
        st.sampled_from(["command", "file_path", "url", "path"]), st.text(max_size=20) | st.none() | st.integers()
    ),
)
def test_no_input_breaks_it(tool: str, tool_input: dict[str, Any]) -> None:
    assert RULES.judge(Call(tool, tool_input, "/project", "")).decide in STRICTNESS


@pytest.mark.parametrize(
    "text", ["Bash(rm:*)", " Bash(rm:*) ", "Bash( rm -rf )", "Bash(rm *)", "Bash(r[m]:*)", "Bash(r?:*)", "Bash(*)", "*"]
)
def test_a_rule_is_found_by_the_program_however_it_is_written(text: str) -> None:
    rules = Rules([CompiledRule("Read(x)", "allow"), CompiledRule(text, "deny"), CompiledRule("Bash(ls:*)", "allow")])
    assert judged("Bash", rules=rules, command="rm -rf").decide == "deny"


_TEXTS = st.sampled_from(
    ["*", "Bash", "Bash(rm:*)", "Bash(git push:*)", "Bash(ls:*)", "Edit(/a/**)", "Edit", "Read(/a)"]
)
_COMMANDS = st.lists(st.sampled_from(["ls", "rm a/b", "git push", "git $x", "echo > a/b", "cat a", "$x"]), min_size=1)
_STRICT_FIRST = ("deny", "person", "agent", "allow")


def _rules(decide: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[ApprovalRule, ...]]:
    return st.lists(st.builds(ApprovalRule, tool=_TEXTS, decide=decide), max_size=4).map(tuple)


@given(
    _rules(st.sampled_from(_STRICT_FIRST)),
    _rules(st.sampled_from(_STRICT_FIRST[:2])),
    _COMMANDS.map("; ".join),
    st.sampled_from(["/project", "/project/a", "/"]),
    st.booleans(),
)
def test_a_project_s_rules_grant_nothing(
    users: tuple[ApprovalRule, ...], own: tuple[ApprovalRule, ...], command: str, cwd: str, edits: bool
) -> None:
    call = Call("Edit", {"file_path": "a/b"}, cwd, cwd) if edits else Call("Bash", {"command": command}, cwd, cwd)
    config = Config(project_rules=ProjectRules(folder="/project", rules=own))
    said = with_project(None, config, call)
    assert said is None or (said.decide in ("deny", "person") and said.rule and said.file)
    before = Rules.of(users).judge(call)
    after = with_project(before, config, call)
    assert after is not None
    ranks = [_STRICT_FIRST.index(one.decide) for one in (after, before, *([said] if said else []))]
    assert ranks[0] == min(ranks)
    assert after.rule or not (before.rule and before.decide == after.decide)
    assert bool(after.file) is (after is not before)


def test_a_project_s_paths_are_below_its_folder_wherever_the_session_began() -> None:
    config = Config(project_rules=ProjectRules(folder="/p", rules=(ApprovalRule(tool="Edit(/src/**)", decide="deny"),)))
    for path, decide in (("/p/src/x", "deny"), ("/p/below/src/x", None)):
        found = with_project(None, config, Call("Write", {"file_path": path}, "/p/below", "/p/below"))
        assert (found.decide if found else None) == decide
