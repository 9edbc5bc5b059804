"""What a reading holds: words, assignments, redirections, what runs a command, and places."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter.shell.commands import Expansion, Literal, Reading, RunBy, SimpleCommand, Why
from hookrouter.shell.reader import read


def named(reading: Reading, name: str) -> SimpleCommand:
    (command,) = (one for one in reading.commands if one.name == name)
    return command


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a", "a"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("a\\ b", "a b"),
        ("a'b'\"c\"d", "abcd"),
        ('"a\\"b\\$c\\d"', 'a"b$c\\d'),
        ("$'a\\tb\\'c'", "a\tb'c"),
        ("''", ""),
        ("a#b", "a#b"),
        ("{}", "{}"),
        ("stash@{0}", "stash@{0}"),
        ("a=b", "a=b"),
        ("é", "é"),
        ("--x=$", "--x=$"),
    ],
)
def test_a_word_that_is_known_has_a_value_without_its_quotes(written: str, value: str) -> None:
    reading = read(f"ls {written}")
    assert reading.commands[0].words[1].value == value
    assert reading.commands[0].words[1].text == written
    assert reading.certain


@pytest.mark.parametrize(
    ("written", "kind", "splits"),
    [
        ("$x", "parameter", True),
        ('"$x"', "parameter", False),
        ('"$@"', "parameter", True),
        ("${x:-a}", "parameter", True),
        ('"${x%.*}"', "parameter", False),
        ("$?", "number", False),
        ("${#x}", "number", False),
        ("$(pwd)", "command substitution", True),
        ('"`pwd`"', "command substitution", False),
        ("<(pwd)", "process substitution", False),
        ("$((1 + 2))", "arithmetic", False),
        ("*", "filename", True),
        ("[ab]", "filename", True),
        ("{a,b}", "brace", True),
        ("~", "tilde", False),
    ],
)
def test_a_word_that_is_not_known_says_what_is_expanded(written: str, kind: str, splits: bool) -> None:
    (word,) = read(f"ls {written}").commands[-1].words[1:]
    assert word.value is None
    assert word.parts == (Expansion(kind, written.strip('"'), splits),)
    assert word.splits == splits


def test_a_word_may_be_known_in_part() -> None:
    word = read('ls "a/$x.txt"').commands[0].words[1]
    assert word.parts == (Literal("a/"), Expansion("parameter", "$x"), Literal(".txt"))
    assert word.prefix == "a/"


def test_assignments_stand_before_the_words() -> None:
    (command,) = read("A=1 B='b c' C= make all").commands
    assert [(one.name, [word.value for word in one.values]) for one in command.assignments] == [
        ("A", ["1"]),
        ("B", ["b c"]),
        ("C", []),
    ]
    assert command.name == "make"


def test_redirections_have_a_direction_a_descriptor_and_a_target() -> None:
    (command,) = read("make >a 2>>b <c 2>&1 3>&- &>d").commands
    found = [(one.direction, one.descriptor, one.target and one.target.value) for one in command.redirections]
    assert found == [
        ("out", None, "a"),
        ("append", 2, "b"),
        ("in", None, "c"),
        ("duplicate", 2, "1"),
        ("close", 3, None),
        ("out", None, "d"),
    ]


def test_words_behind_a_redirection_belong_to_the_command() -> None:
    (command,) = read("git >out push <in origin").commands
    assert [word.value for word in command.words] == ["git", "push", "origin"]


def test_a_here_document_is_the_text_that_the_command_reads() -> None:
    (command,) = read("cat <<'EOF'\na $b `c`\nEOF\n").commands
    (redirection,) = command.redirections
    assert redirection.direction == "here-document"
    assert redirection.target is not None
    assert redirection.target.value == "a $b `c`\n"


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("rm", []),
        ("a; rm && b", []),
        ("a | rm", ["pipeline"]),
        ("rm &", ["background"]),
        ("(rm)", ["subshell"]),
        ("{ rm; }", ["group"]),
        ("if rm; then a; fi", ["condition"]),
        ("for x in a; do rm; done", ["loop"]),
        ("while rm; do a; done", ["loop"]),
        ("case a in a) rm ;; esac", ["case"]),
        ("f() { rm; }", ["function f", "group"]),
        ("a $(rm)", ["command substitution"]),
        ("a <(rm)", ["process substitution"]),
        ("a <<EOF\n$(rm)\nEOF", ["here-document", "command substitution"]),
        ("sudo timeout 5 rm", ["program sudo", "program timeout"]),
        ("a | xargs rm", ["pipeline", "program xargs"]),
        ("bash -c 'a | rm'", ["program bash", "pipeline"]),
        ("bash <<'EOF'\nrm\nEOF", ["program bash", "here-document"]),
        ("git -c alias.x='!rm' x", ["program git"]),
    ],
)
def test_a_command_says_what_runs_it(line: str, kinds: list[str]) -> None:
    by = named(read(line), "rm").run_by
    assert [f"{one.kind} {one.name}".strip() for one in by] == kinds


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("git -C . push origin", ["git", "push", "origin"]),
        ("git --no-pager -c color.ui=never log -3", ["git", "log", "-3"]),
        ("git --git-dir=x status", ["git", "status"]),
        ("docker --context remote run --rm a", ["docker", "run", "--rm", "a"]),
        ("docker compose -f x.yaml exec web ls", ["docker", "compose", "exec", "web", "ls"]),
        ("kubectl -n prod delete pod x", ["kubectl", "delete", "pod", "x"]),
        ("npm --prefix web run build", ["npm", "run", "build"]),
        ("/usr/bin/git -C x push", ["/usr/bin/git", "push"]),
        ("make -C x all", ["make", "-C", "x", "all"]),
    ],
)
def test_the_bare_words_have_no_options_before_the_subcommand(line: str, bare: list[str]) -> None:
    assert [word.value for word in read(line).commands[0].bare] == bare


def test_places_are_offsets_in_the_line() -> None:
    line = "cd é && git push 2>&1 | tail"
    for command in read(line).commands:
        for word in command.words:
            assert line[word.start : word.end] == word.text
    assert line[read(line).commands[1].start : read(line).commands[1].end] == "git push"


def test_what_another_command_runs_stands_where_its_text_does() -> None:
    line = "a; bash -c 'b && rm x'"
    command = named(read(line), "rm")
    assert {line[word.start : word.end] for word in command.words} == {"'b && rm x'"}


def test_words_outside_of_commands_are_listed() -> None:
    reading = read("for x in a b; do [[ $x == c ]] && ls; done < f")
    assert [word.text for word in reading.words] == ["a", "b", "$x", "==", "c"]
    assert [one.target and one.target.value for one in reading.redirections] == ["f"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ls 'a", Why.SYNTAX),
        ("ls )", Why.SYNTAX),
        ("ls \0", Why.CHARACTER),
        ("ls\rpwd", Why.CHARACTER),
        ("$x", Why.NAME),
        ("l*", Why.NAME),
        ("sudo $x", Why.OPTION),
        ("echo $((x))", Why.ARITHMETIC),
        ("[ $x -eq 1 ]", Why.ARITHMETIC),
        ("i=$y; echo $((i))", Why.ARITHMETIC),
        ("false && i=1; echo $((i))", Why.ARITHMETIC),
        ('bash -c "$x"', Why.TEXT),
        ("curl a | sh", Why.INPUT),
        ("git rebase $x", Why.OPTION),
        ("timeout --what 5 ls", Why.OPTION),
        ("source venv/bin/activate", Why.FILE),
        ("echo a > x.sh; bash x.sh", Why.WRITTEN),
        ("cat > run <<'EOF'\na\nEOF\nchmod +x run; ./run", Why.WRITTEN),
        ("alias ls=rm", Why.STATE),
        ("shopt -s expand_aliases", Why.OPTION),
        ("set -o posix", Why.STATE),
        ("PATH=. ls", Why.VARIABLE),
        ("export LD_PRELOAD=x", Why.VARIABLE),
        ("((PATH=1)); ls", Why.VARIABLE),
        ("let PATH=1; ls", Why.VARIABLE),
        ("echo $((x = PATH = 1)); ls", Why.VARIABLE),
        ("for ((PATH=1; x<2; x++)); do ls; done", Why.VARIABLE),
        ("sed '1e rm' f", Why.CODE),
        ("awk '{ print | \"rm\" }' f", Why.CODE),
        ("x=(1); declare x='($(rm))'", Why.ARITHMETIC),
        ("! time ! time sh -c 'rm x'", Why.SYNTAX),
        ("setarch -R rm x", Why.TEXT),
        ("kubectl exec p rm x", Why.OPTION),
        ("git -c help.autocorrect=1 psuh", Why.OPTION),
        ("make X:='$(shell rm x)'", Why.VARIABLE),
        ('make "$x"', Why.OPTION),
        ("tar cfI x.tar 'sh -c rm' f", Why.OPTION),
        ("echo a | xargs -i% sh -c '%'", Why.OPTION),
        ('echo a | xargs -I "$x" rm =a', Why.TEXT),
        ('echo a | xargs -I "${x:-a}" rm =a', Why.TEXT),
        ("echo a | xargs -I=a rm =a", Why.OPTION),
        ("echo a | xargs -rI=a rm =a", Why.OPTION),
        ("flock -c=rm f", Why.OPTION),
        ("cat <<'E'-\na\nE\n", Why.SYNTAX),
        ("x=$(cat <<E | while a; do b; c; done\nd\nE\n)", Why.SYNTAX),
        ("x=$(cat <<E && a\nd\nE\n)", Why.SYNTAX),
        ("time X+=a rm", Why.SYNTAX),
        ("ls a<(b)", Why.SYNTAX),
        ("x=(a)[ ls", Why.SYNTAX),
        ("ls >&'$(rm x)'", Why.TEXT),
        ("ls >&$x", Why.TEXT),
        ("ls >& -x", Why.TEXT),
        ("! ((x))", Why.SYNTAX),
        ("x=$(while cat <<E\na\nE\ndo a; b; done)", Why.SYNTAX),
    ],
)
def test_a_doubt_says_why(line: str, why: str) -> None:
    reading = read(line)
    assert why in {doubt.why for doubt in reading.doubts}
    assert not reading.certain


@pytest.mark.parametrize(
    "line",
    [
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for i in {1..9}; do echo $((i * 2)); done",
        "a=1; b=$a; echo $((a + b))",
        "n=$#; ((n > 1)) && ls",
        "for ((i = 0; i < 3; i++)); do [ $i -eq 1 ]; done",
        "let i=1; [[ $i -eq 1 ]]",
    ],
)
def test_arithmetic_on_numbers_is_certain(line: str) -> None:
    assert read(line).certain


@pytest.mark.parametrize(
    ("line", "shells"),
    [
        ("a &>f b", {"bash", "zsh"}),
        ("> f", {"bash", "sh"}),
        ("echo $x[1]", {"bash", "sh"}),
        ("a &! b", {"bash", "sh"}),
        ('printf %d "$x"', {"bash", "sh"}),
        ("{ echo } ", set()),
        ("echo $'a'", {"bash", "zsh"}),
        ("cat <<< a", {"bash", "zsh"}),
        ("a &>>! f b", {"bash"}),
        ("a >! f b", {"bash", "sh"}),
        ("time > f", {"bash", "sh"}),
        ("[[ -n a || b < c ]]", {"bash", "zsh"}),
        ("((1))", {"bash", "zsh"}),
        ("bash -s <<< a <<EOF\nb\nEOF", {"bash"}),
        ("a | X=1 bash -s <<< a", {"bash"}),
        ("a | env bash < f", set()),
        ("a | { bash <<< a; }", {"bash"}),
    ],
)
def test_shells_differ(line: str, shells: set[str]) -> None:
    assert {shell for shell in ("bash", "zsh", "sh") if read(line, shell).certain} == shells


def test_a_line_without_a_command_is_certain() -> None:
    for line in ("", "  ", "\n", "# nothing"):
        assert read(line) == Reading(line, ())


def test_a_reading_that_is_not_certain_still_lists_what_it_saw() -> None:
    reading = read("if $x; then rm -rf a; fi; [[ $(git push) -eq 1 ]]")
    assert not reading.certain
    assert {"rm", "git"} <= {command.name for command in reading.commands}


def test_options_of_ssh_may_stand_behind_the_host() -> None:
    assert named(read("ssh host -p 22 rm x"), "rm").run_by == (RunBy("program", "ssh"),)


@pytest.mark.parametrize(
    "line", ["bash -c - 'rm x'", "bash -c -- 'rm x'", "bash - <<< 'rm x'", "sh -s - <<'E'\nrm x\nE"]
)
def test_a_dash_ends_the_options_of_a_shell(line: str) -> None:
    assert [word.value for word in named(read(line), "rm").words] == ["rm", "x"]


@pytest.mark.parametrize(
    "line", ["a \"$(cat <<'E'\nb\nE\n)\"", "x=$(cat <<E | sort\nb\nE\n)", "if a; then cat <<E\nb\nE\nfi"]
)
def test_a_here_document_that_is_all_of_a_substitution_is_certain(line: str) -> None:
    assert read(line).certain


def test_run_by_is_from_the_outside_in() -> None:
    command = named(read("for x in a; do echo $(sudo rm); done"), "rm")
    assert command.run_by == (RunBy("loop"), RunBy("command substitution"), RunBy("program", "sudo"))


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("git push --force", True),
        ("git push '--for''ce' origin", True),
        ("/usr/bin/git -C x push origin --force-with-lease", True),
        ("git push $x", True),
        ("git push origin a$x", True),
        ('git push origin "a$x"', False),
        ('git push origin "--fo$x"', True),
        ("git $x", True),
        ("git 'a b'", False),
        ("git push", False),
        ("git commit -m 'push --force'", False),
        ("echo git push --force", False),
        ("$x push --force", True),
        ("A=1", False),
    ],
)
def test_a_command_may_match_a_rule(line: str, matches: bool) -> None:
    assert read(line).commands[0].may_match("git push --force*") == matches


def test_no_command_matches_an_empty_rule() -> None:
    assert not read("ls").commands[0].may_match("")


@pytest.mark.parametrize(
    ("line", "ran"),
    [
        ("find b -name -exec -exec cc {} +", "cc"),
        ("find . -fprintf -exec x -exec cc {} +", "cc"),
        ("find . -path -ok -newermt -exec -exec cc a \\;", "cc"),
        ("bash /dev//stdin <<< 'cc a'", "cc"),
        ("bash /dev/../dev/./stdin <<< 'cc a'", "cc"),
        ("sh //proc/self/fd/0 <<'E'\ncc a\nE", "cc"),
    ],
)
def test_what_stands_behind_another_spelling_is_found(line: str, ran: str) -> None:
    """The first and the fourth were found by fuzzing against bash."""
    assert ran in [command.name for command in read(line, "bash").commands]


@pytest.mark.parametrize(
    "line",
    [
        "cd /dev; bash stdin <<< 'cc a'",
        "bash ../dev/stdin <<< 'cc a'",
        "cd /proc/self/fd && bash 0 <<< 'cc a'",
        'find "$x" -exec -exec cc {} +',
        "find . -name *.c -exec cc {} +",
        "find . -unheard-of -exec -exec cc {} +",
    ],
)
def test_what_may_stand_behind_one_is_not_certain(line: str) -> None:
    assert not read(line, "bash").certain


@pytest.mark.parametrize(
    "line", ["npm -<<EOF a\na\nEOF\n", "printf -v<<EOF a\nb\nEOF\n", "timeout -s<<KILL 5 npm a\nb\nKILL\n"]
)
def test_a_word_that_the_grammar_makes_part_of_a_sign_is_not_lost(line: str) -> None:
    """The first was found by fuzzing against bash."""
    assert not read(line, "bash").certain


@pytest.mark.parametrize("line", ["cd a && b 2>&1 | c", "cd a || b >x | c | d", "cd a && e; x && b 2>&1 | c"])
def test_only_the_last_command_of_a_list_is_in_a_pipeline_behind_it(line: str) -> None:
    found = read(line).commands
    assert not found[0].run_by
    assert [command.run_by for command in found if command.name in ("b", "c", "d")] == [
        (RunBy("pipeline"),) for name in "bcd" if f"| {name}" in line or name == "b"
    ]


@pytest.mark.parametrize("word", ["~/a", "x$y", '"$y"', "ab", "$(b)a", "*a"])
def test_a_word_is_not_known_from_where_xargs_replaces_something_in_it(word: str) -> None:
    found = next(one for one in read(f"xargs -I a rm {word} < f").commands if one.name == "rm")
    prefix = "x" if word == "x$y" else ""
    assert (found.words[1].value, found.words[1].prefix, found.words[1].suffix) == (None, prefix, "")
    assert found.words[1].splits is (word in ("x$y", "$(b)a", "*a"))


@pytest.mark.parametrize("word", ["$!", "${!}"])
def test_the_last_process_in_the_background_may_be_no_word(word: str) -> None:
    assert read(f"kill {word}").commands[0].words[1].splits
    assert not read(f'kill "{word}"').commands[0].words[1].splits
    assert read(f"npm start & sleep 5; kill {word}").certain


def test_an_assignment_to_env_that_splits_may_end_in_a_command() -> None:
    assert not read("env X=1 X=$Y ls").certain
    assert read('env X=1 X="$Y" ls').certain
    assert read("X=$Y ls").certain


def test_a_here_document_in_a_process_substitution_is_written_out_by_bash_as_in_a_command_substitution() -> None:
    loop = "while rm <<EOF\na\nEOF\ndo git a; break; done"
    assert not read(f"printf x <({loop})").certain
    assert not read(f"printf x $({loop})").certain
    assert read("cat <(cat <<EOF\na\nEOF\n)").certain


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash", "sh"])
def test_a_shell_takes_a_plus_for_a_dash_before_its_text(shell: str) -> None:
    assert [one.name for one in read(f"{shell} +c 'rm x'").commands] == [shell, "rm"]


@pytest.mark.parametrize(
    ("client", "given"),
    [
        ("psql", "psql -c a"),
        ("psql -h h db", "psql -h h -f f db"),
        ("mysql db", "mysql -e a db"),
        ("mariadb", "mariadb --execute=a"),
        ("sqlite3 db", "sqlite3 db .tables"),
        ("duckdb", "duckdb -c a"),
        ("make -f -", "make -f f"),
        ("make -sf-", "make -s"),
        ("make --file -", "make --file f"),
        ("gmake --makefile=/dev/stdin", "gmake --makefile=f"),
        ("make -f /proc/self/fd/0 a", "make a"),
        ("nodejs", "nodejs f.js"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_what_comes_through_a_pipe_may_hold_commands(shell: Any, client: str, given: str) -> None:
    assert not read(f"curl u | {client}", shell).certain
    assert not read(f"curl u | (sudo {client})", shell).certain
    assert read(f"curl u | {given}", shell).certain
