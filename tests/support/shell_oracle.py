"""What bash, or another shell, really runs for a command line, to hold the reader of commands against."""

# ruff: noqa: E501 - templates, one form each

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hookrouter.shell import commands
from hookrouter.shell.reader import read

if TYPE_CHECKING:
    from typing import Literal

    from hookrouter.shell.commands import Reading, SimpleCommand, Word

__all__ = ["STUBS", "Oracle", "random_shell_line", "unnamed"]

STUBS = (
    *("aa", "bb", "cc", "zz", "git", "ls", "rm", "npm", "cat", "grep", "sed", "more"),
    *("then", "fi", "do", "a", "b", "x", "y", "f", "z", "time", "repeat", "-", "!"),
)
"""Programs that record how they were started, and do nothing else."""
_REAL = ("env", "xargs", "timeout", "nice", "find", "bash", "zsh", "sh", "nohup", "stdbuf")
# Not setsid: what leaves the session outlives its line.
_SECONDS = 0.7
_ENVIRON = {
    "X": "a[$(zz x)]",
    "Y": "zz y",
    "V": "-v a[$(zz$IFS)]",
    "O": "-exec",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}
"""Values that run something where a shell evaluates them."""
_STUB = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Each line has a session of its own, and each session a log: what a line left behind writes into no other's. */

int main(int count, char **words)
{
    char place[4096], record[65536];
    ssize_t size = readlink("/proc/self/exe", place, sizeof place - 40);
    if (size < 0) return 1;
    place[size] = 0;
    sprintf(strrchr(place, '/'), "/log.%d", (int)getsid(0));
    const char *name = (const char *)getauxval(AT_EXECFN), *base = strrchr(name, '/');
    size_t at = 0;
    at += 1 + (size_t)snprintf(record, 4096, "%s", base ? base + 1 : name);
    for (int index = 1; index < count && at < 60000; index++)
        at += 1 + (size_t)snprintf(record + at, 4000, "%s", words[index]);
    memcpy(record + at, "\2\n\3", 4);
    at += 4;
    int log = open(place, O_WRONLY | O_APPEND | O_CREAT, 0600);
    return write(log, record, at) != (ssize_t)at;
}
"""


class Oracle:
    """A folder with stubs, in which shells run lines. Only for Linux, with a C compiler."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = folder / "bin"
        self._bin.mkdir(parents=True)
        source = folder / "stub.c"
        source.write_text(_STUB)
        self._stub = folder / "stub"
        subprocess.run(["cc", "-O1", "-w", "-o", str(self._stub), str(source)], check=True)
        self._program, self._stamp = self._stub.read_bytes(), self._stub.stat()
        for name in STUBS:
            (self._bin / name).symlink_to("../stub")
        for name in _REAL:
            found = shutil.which(name)
            if found:
                (self._bin / name).symlink_to(found)

    def ran(self, line: str, shell: str) -> list[list[str]]:
        """Return the words of each stub that ran, the first its name."""
        place = self._folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        (place / "b").mkdir(parents=True)
        (place / "f").write_text("zz f\n")
        for name in ("zz", "-exec"):
            (place / "b" / name).symlink_to("../../stub")
            (place / name).symlink_to("../stub")
        words = {"zsh": ["zsh", "-f"], "bash": ["bash"], "sh": ["dash"]}[shell]
        environ = {**_ENVIRON, "PATH": str(self._bin), "RANDOM_PLACE": str(place)}
        process = subprocess.Popen(
            [shutil.which(words[0]) or words[0], *words[1:], "-c", line],
            cwd=place,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            was_whole = not self._restore()
            _end_session(process.pid)
            process.wait()
        log = self._folder / f"log.{process.pid}"
        if not log.exists():
            return []
        if not was_whole:
            # What ran behind that was what the line had written: which files are links, no reader says.
            log.unlink()
            return []
        records = log.read_bytes().decode(errors="surrogateescape").split("\0\2\n\3\0")
        log.unlink()
        return [record.split("\0") for record in records if record]

    def _restore(self) -> bool:
        """Put the stub back, if a line has written into it; return whether one has.

        zsh's `> =a` does, and `>zz`, which is a link; what is there then may run itself.
        """
        is_there = self._stub.exists()
        stamp = self._stub.stat() if is_there else None
        if stamp is not None and (stamp.st_mtime_ns, stamp.st_size) == (self._stamp.st_mtime_ns, self._stamp.st_size):
            return False
        new = self._folder / "new"
        new.write_bytes(self._program)
        new.chmod(0o755)
        new.replace(self._stub)
        self._stamp = self._stub.stat()
        return True


def _end_session(leader: int) -> None:
    """Kill all that a line has started, also in groups of their own, and what starts others as quickly as it dies."""
    while members := [pid for pid in _processes() if _session(pid) == leader]:
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _session(pid: int) -> int:
    """Return the session of a process that lives; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[3])


def unnamed(reading: Reading, ran: list[list[str]]) -> list[list[str]]:
    """Return what ran of which a reading names no command with these words."""
    patterns = [pattern for command in reading.commands for pattern in [_pattern(command)] if pattern is not None]
    if any(word.value == "f" for command in reading.commands for word in command.words):
        # A shell may run the script f: what a script does is its own.
        ran = [words for words in ran if words != ["zz", "f"]]
    return [words for words in ran if not any(pattern.fullmatch("\0".join([*words, ""])) for pattern in patterns)]


def _pattern(command: SimpleCommand) -> re.Pattern[str] | None:
    if command.name is None:
        return None
    name = command.name.rpartition("/")[2]
    rest = "".join(map(_of_word, command.words[1:]))
    return re.compile(re.escape(name) + "\0" + rest, re.DOTALL)


def _of_word(word: Word) -> str:
    if word.splits:
        return "(?:[^\0]*\0)*"
    parts = [re.escape(part.text) if isinstance(part, commands.Literal) else "[^\0]*" for part in word.parts]
    return "".join(parts) + "\0"


_NAMES = ("aa", "bb", "cc", "git", "ls", "rm", "npm", "zz")
_COMMANDS = r"""
<N> <W>|<N> <W> <W>|<N>|X=<W> <N> <W>|X=<W>|<N> > f|<N> 2>&1|<N> >/dev/null 2>&1|<N> < f|<N> <W> &> f|<N> <<< <W>|<N> <W> >g <W>
<S> && <S>|<S> \|\| <S>|<S>; <S>|<S>\n<S>|<S> & <S>|<S> \| <S>|<S> \|& <S>|! <S>|! ! <S>|<S> # <S>|<S> &|<S> \\\n && <S>
( <S> )|(<S>)|{ <S>; }|{ <S>\n}|{ <S>; } > f|if <S>; then <S>; fi|if <S>\nthen <S>\nelse <S>\nfi
if <S>; then <S>; elif <S>; then <S>; fi|while <S>; do <S>; break; done|until <S>; do <S>; break; done|for x; do <S>; done
for x in <W> <W>; do <S>; done|for x in a b\ndo\n<S>\ndone|for ((i=0;i<2;i++)); do <S>; done|for x in a; { <S>; }
case <W> in a) <S>;; *) <S>;; esac|case <W> in (a\|b) <S> ;; esac|case a in a) <S> esac|f() { <S>; }; f|f() ( <S> ); f <W>
function f { <S>; }; f|select x in a; do <S>; break; done < /dev/null|while <S>; do <S>; break; done <<< <W>
<N> <<EOF\n<T>\nEOF\n|<N> <<'EOF'\n<T>\nEOF\n|<N> <<-EOF\n\t<T>\n\tEOF\n|<N> <<EOF \| <S>\n<T>\nEOF\n|<N> <<EOF && <S>\n<T>\nEOF
<N> <<EOF > f\n<T>\nEOF\n|<N> <<\\EOF\n<T>\nEOF\n|<N> <<E'O'F\n<T>\nEOF\n|<N> <<EOF\n<T>\nEOFx\n<S>\nEOF\n<S>|<N> <<A <<B\n<T>\nA\n<T>\nB\n
<S> $(<N> <<EOF\n<T>\nEOF\n)|<N> <<EOF <W>\n<T>\nEOF\n|<N> <<''\n<T>\n\n<S>|<N> <<EOF; <S>\n<T>\nEOF\n
time <S>|time -p <S>|coproc <S>|time { <S>; }|! time <S>|X=1 time <S>|time if <S>; then <S>; fi
bash -c <Q>|sh -c <Q>|eval <Q>|eval <S>|env <S>|env X=1 <S>|env -u X <S>|timeout 5 <S>|nice -n 5 <S>|command <S>|builtin <S>
exec <S>|echo a \| xargs <S>|echo a \| xargs -I% <S>|find . -maxdepth 0 -exec <S> \\;|find . -maxdepth 0 -exec <N> {} +
find <W> -maxdepth 0 -exec <N> \\;|trap <Q> EXIT|bash <<EOF\n<S>\nEOF\n|bash <<'EOF'\n<S>\nEOF\n|echo <Q> \| bash|source f|bash g|bash <<< <Q>
alias z=<N>\nz|shopt -s expand_aliases\nalias z=<N>\nz|hash -p ./zz z; z|zsh -c <Q>|noglob <S>|- <S>|repeat 1 <S>|./b/zz <W>|b/z?
. ./f|command -v <S>|env -S <Q>|env <W> <S>|timeout <W> <S>|xargs <W> < f|<W> <W>|<W>|stdbuf -oL <S>|PATH=. zz|xargs bash -c <Q> < f
test -v 'a[$(<S>)]'|[ -v 'a[$(<S>)]' ]|[[ -v a[$(<S>)] ]]|printf -v 'a[$(<S>)]' x|read 'a[$(<S>)]' < f|let 'a[$(<S>)]=1'
declare 'a[$(<S>)]=1'|y='a[$(<S>)]'; echo $((y))|y='a[$(<S>)]'; ((y))|y='a[$(<S>)]'; [[ y -eq 1 ]]|y='$(<S>)'; echo ${y@P}
a=(1); unset 'a[$(<S>)]'|[ <W> ]|[ <W> = <W> ]|[ <W> -eq <W> ]|[ -n <W> ]|[[ <W> == <W> ]]|[[ -n <W> && <W> != b ]]|[[ <W> =~ ^a.*$ ]]
[[ <W> -eq 1 ]]|((X))|((i=1, i++))|let i=1|i=0; while [ $i -lt 2 ]; do <S>; i=$((i+1)); done|export Y=<W>|declare <W>|unset <W>|read <W> < f
local x=<W>|printf <W> <W>|printf '%d' <W>|shift <W>|return <W>|exit <W>|set -- <W>|set -x; <S>|mapfile -C <Q> -c 1 x < f|a=(<W> <W>)|a[1]=<W>
echo <W>|cd . && <S>|true && <S>|false \|\| <S>|: <W>|wait|test <W> = <W>|git -c alias.z=<Q> z|{ <S> } always { <S> }|if [[ a ]] { <S> }|foreach x (a) <S>; end
() { <S> } |() { <S>; } a|function { <S>; }|repeat 2 <S>|for x (a b) <S>|for x in a b; <S>|echo ${(e):-<Q>}|echo ${~X} $~X $=X|print -P <Q>
emulate sh -c <Q>|if (( 1 )) <S>|case a { a) <S> ;; }|[[ -n a ]] && { <S> }|x=( $(<S>) ); echo $x[1]|<N> &! <S>|<N> >\| f <W>|<S> &>>f|f () <S>
<S> >! f|<S> &>! f|<N> >>! f <W>|<N> >>\| f <W>|<N> <>f <W>|<N> >&f <W>|<N> {fd}<f <W>|<S> 2>f|<S> >&2|<S> <&-|<S> 3<<<<W>|<N> 1<W>
case <W> in a) <S> ;& *) <S> ;; esac|case <W> in a) <S> ;;& b) ;; esac|case a in # <S>\na) <S> ;; # '\nesac|{ # '\n<S>\n}|( # "\n<S>\n)
<S> # '\n<S>|if <S> # <Q>\nthen <S>; fi|if ! <S>; then <S>; fi|! <S> \| <S>|<S> \|\n<S>|<S> &&\n<S>|<S> \|\| # a\n<S>|<N> \\\n<W> \\\n<W>
f() { <S>; } <<EOF\n<T>\nEOF\nf|function f () { <S>; }; f|function f() ( <S> ); f|f()\n{ <S>; }\nf|f() if <S>; then <S>; fi; f|f() for x in a; do <S>; done; f
{ <S> <<EOF\n<T>\nEOF\n}|if <S> <<EOF\n<T>\nEOF\nthen <S>; fi|while <N> <<EOF\n<T>\nEOF\ndo <S>; break; done|(<N> <<EOF\n<T>\nEOF\n)
`<N> <<EOF\n<T>\nEOF\n`|x=$(<N> <<'EOF'\n<T>\nEOF\n)|<N> "$(<N> <<EOF\n<T>\nEOF\n)"|<N> <<"EOF"-\n<T>\nEOF\n|<N> <<EOF<W>\n<T>\nEOF\n<S>|<N> <<-'E F'\n<T>\n\tE F\n
<N> $(<f)|<N> $(< f; <S>)|<N> $( # '\n<S>)|<N> $(case a in a) <S>;; esac)|((1)) && <S>|(( 1 ) \|\| <S> )|( (<S>) )|((<S>); <S>)|<N> $((<S>); <S>)|<N> $( (<S>) )
[[ ( -n <W> ) ]]|[[ ! -f <W> \|\| <W> < b ]]|[[ a =~ (<W>) ]]|[[ a == (a\|b) ]]|[[ <W> = "<W>" ]] && <S>|[[ -n $(<S>) ]]|[[ a\n&& b ]]|[[ $(<S>) -gt 1 ]]|[[ -o x && <W> ]]
time -- <S>|time\n<S>|command -- <N> <W>|command -p <S>|builtin eval <Q>|env -i <S>|env - <S>|env -iS <Q>|env -- X=1 <S>|nice -5 <S>|nice --adjustment=5 <S>|nohup -- <S>|timeout -s KILL 5 <S>
xargs -n1 <S> < f|xargs -I{} <N> a{}b < f|xargs -- <S> < f|find . -maxdepth 0 -exec sh -c <Q> {} \;|find . -maxdepth 0 \( -exec <N> {} \; \)|find b -name <W> -exec <N> {} +|xargs env X=1 <N> < f
bash -ec <Q>|bash -o pipefail -c <Q>|bash -euo pipefail -c <Q> <W>|sh -xc <Q>|bash -c <Q> \| <S>|bash -s <<< <Q>|bash /dev/stdin <<< <Q>|eval "<S>" '<S>'|eval -- <Q>|trap -- <Q> 0|trap - EXIT
select x in a b\ndo <S>; break\ndone < f|for x in\ndo <S>; done|for x in $(<S>); do <S>; done|for x\nin a; do <S>; done|for ((;;)); do <S>; break; done|for ((i=0; i<1; i++)) { <S>; }|until ! <S>; do break; done
X=a Y=b <S>|X+=a <N>|X=$(<S>) Y=`<N>` <N> <W>|X= <S>|X=~ <N>|X={a,b} <N>|X=* <N>|export X=$(<S>) Y|export X Y; <S>|readonly x=<W>|declare -x x=$(<S>)|local x|unset x y; <S>|a=(<W>\n<W>); <S>|a+=(<W>)
foreach x (a b)\n<S>\nend|while ((0)) { <S> }|until <S> { <S> }|if [[ a ]] <S>|for x y in a b; do <S>; done|for x ( a ) { <S> }|repeat 1 do <S>; done|function f g { <S>; }; f|f g () { <S> }; g|function { <S> } <W>
{ <S> } always { <S> } && <S>|<N> =(<S>)|<N> ${:-<W>}|<N> ${(%)X}|<N> $(<S>)[1]|<N> ${X:h}|<N> ${^X}|<N> ^a|<N> a~b|<N> (a\|b)|<N> **/*(.)|<N> <1-2>|nocorrect <S>|noglob - <S>|exec - <S>|- exec <S>
functions[z]=<Q>; z|alias -g G=<Q>; echo G|echo $X:h|=zz <W>|\\<N> <W>|exec {fd}>f; <S>|<N> >(<S>) 2>&1|<N> <<<$(<S>)|typeset -A m; m[$(<S>)]=1
a[$(<S>)]=1|a=([$(<S>)]=1)|echo $((a[$(<S>)]))|echo ${X:$(<S>)}|echo ${X//a/$(<S>)}|<S> <<EOF &\n<T>\nEOF\n|x=1; x=$((x+<W>)); echo $((x))|i=<W>; echo $((i))
x=(1); declare x=<Q>|x=(1 2); local x=<W>|read -a x < f; declare x=<W>|nice <W> <S>|find . -maxdepth 0 <W> -exec <N> {} \;|xargs -I <W> <N> <W> < f|xargs -i<W> <N> <W> < f
env <W>=1 <S>|printf -v <W> %s 1; <S>|printf <W> <W> <W>|[[ -n a ]] { <S> }|while read x; do <S>; done < f|<S> $(<S>) `<N>` "$(<S>)"|bash -c <Q> <W> <W>|sh -s < f
echo a > zz; ./zz|echo 'zz a' > g; bash g|echo 'zz a' > g; . ./g|[ ! -f <W> ]|[ <W> -a <W> ]|cat=<W>; <S>|typeset -i x=<W>|print <W>|<N> *(e:<Q>:)
"""
_ITEMS = [item for line in _COMMANDS.strip().split("\n") for item in re.split(r"(?<!\\)\|", line)]
_TEMPLATES = [
    item.replace("\\|", "|").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\") for item in _ITEMS
]
_WORDS = [
    *(
        "a",
        "b",
        "x",
        "'a b'",
        '"a $X b"',
        "$X",
        "$Y",
        "$V",
        "$O",
        "${X}",
        '"$X"',
        '"$V"',
        '"$O"',
        "'a'\"b\"",
        "a'b c'd",
    ),
    *(
        "${X:-<W>}",
        "${X:-$(<S>)}",
        "${X#a}",
        "${X%%$(<S>)}",
        "${U:-`<N>`}",
        '"${U:-<W>}"',
        "${X^^}",
        "${U:=<W>}",
        "${!Y}",
    ),
    *(
        "$(<S>)",
        "$(<S>)",
        "`<N> a`",
        '"$(<S>)"',
        '"`<N>`"',
        "`<N> \\`<N>\\``",
        "$((1+2))",
        "$((X))",
        "$(( $(<S>) ))",
        "$[1+1]",
    ),
    *(
        "<(<S>)",
        ">(<S>)",
        "*",
        "a*",
        "{a,b}",
        "~",
        "~+",
        "a\\ b",
        "$'a\\n'",
        "\"${U:-'$(<S>)'}\"",
        "a#b",
        "\\#",
        "$",
        '"$"',
    ),
    *(
        "a=b",
        "${#X}",
        "${X/a/b}",
        "${X[0]}",
        "${a[$(<S>)]}",
        "$?",
        "''",
        '""',
        '"$@"',
        "a\\\nb",
        "--",
        "-x",
        "-n",
        "2",
        "1",
    ),
    *(
        "{}",
        "!",
        "]",
        "[a]",
        "=aa",
        "$X[1]",
        "${(e)X}",
        "é",
        "é$X",
        "$é",
        "%1",
        "-",
        "+x",
        "1$X",
        "@(a)",
        "$#",
        "a~b",
        "\\$(<S>)",
    ),
    *(
        '"\\$(<S>)"',
        '"a\\`<S>\\`"',
        "${X@P}",
        "${U-a b}",
        '${U+"<W>"}',
        "$1",
        "$*",
        "$'\\x61'",
        '$"a"',
        "'$(<S>)'",
        "a'\n'b",
        '"${X:-"<W>"}"',
        "${X:-'<W>'}",
        '${U:-"$(<S>)"}',
        "${U:-${X:-<W>}}",
        '"a`<N> "b"`c"',
        '"$(<N> "$(<S>)" \'b\')"',
        "$'a\\'b'",
        "$'\\\\'",
        "$'\\101'",
        "$'\\u61'",
        "\"$'a'\"",
        "\\'",
        '\\"',
        "a'\"'b",
        '"\'"',
        "a\\\\",
        "$(<f)",
        "$(( 1 ? 2 : 3 ))",
        "$((16#a))",
        '"$((1))"',
        "${#a[@]}",
        '"${a[@]}"',
        "${a[1]}",
        "a$(<S>)b",
        "$X$(<S>)",
        "\"a\"$(<S>)'c'",
        "{1..3}",
        "{a,$(<S>)}",
        "a{b,c}d",
        "[!a]",
        "?",
        "~/a",
        "a:~",
        "-c",
        "-e",
        "-exec",
        ";",
        "\\;",
        "#a",
        "}",
        "{",
    ),
]
_TEXTS = [
    "a",
    "$X",
    "`<N>`",
    "$(<S>)",
    "\\$(<S>)",
    "$ $(<S>)",
    "'$(<S>)'",
    "# <S>",
    "a\n<T>",
    "EOFa",
    "${U:-`<N>`}",
    "\\`<S>\\`",
    '"',
    "'",
    "a\\\nb",
    "$((X))",
]
_NOISE = [
    *"ab'\"$`\\ \t\n;&|<>(){}[]#!*?=~-:,.%+/0é",
    "$(",
    "${",
    "&&",
    "||",
    ";;",
    "<<",
    ">>",
    "\\\n",
    "<(",
    "((",
    "))",
    "[[",
    "]]",
    " then ",
    " do ",
]


_Forms = dict[str, list[str]]
_FORMS: _Forms = {"S": _TEMPLATES, "W": _WORDS, "T": _TEXTS}


def random_shell_line(source: random.Random, shell: Literal["bash", "zsh", "sh"] = "bash") -> str:
    """Return a command line of nested forms, now and then with characters added or taken away.

    Half of the lines, which nest more deeply, are of forms that the reader calls certain alone: with others among them
    nearly every line has a doubt, which proves nothing.
    """
    if source.random() < 0.5:
        line = _filled(source, "<S>", source.randint(1, 5), _FORMS)
    else:
        line = _filled(source, "<S>", source.randint(2, 7), _certain_forms(shell))
    if source.random() < 0.35:
        for _ in range(source.randint(1, 3)):
            at = source.randint(0, len(line))
            line = line[:at] + source.choice([source.choice(_NOISE), ""]) + line[at + source.randint(0, 1) :]
    return line[:2000].replace("\0", "")


@cache
def _certain_forms(shell: Literal["bash", "zsh", "sh"]) -> _Forms:
    """Return the forms that are certain if nothing but plain words is in them."""
    around = {"S": "{}", "W": "aa {}", "T": "aa <<EOF\n{}\nEOF\n"}
    return {
        kind: [
            form
            for form in forms
            if read(around[kind].replace("{}", _filled(random.Random(0), form, 0, _FORMS)), shell).certain
        ]
        for kind, forms in _FORMS.items()
    }


def _filled(source: random.Random, template: str, depth: int, forms: _Forms) -> str:
    def fill(found: re.Match[str]) -> str:
        kind = found[1]
        if kind == "N":
            return source.choice(_NAMES)
        if kind == "Q":
            text = _filled(source, "<S>", depth - 1, forms)
            return source.choice([shlex.quote(text), '"' + text + '"', "'" + text + "'", text])
        if depth <= 0:
            return {"S": source.choice(_NAMES) + " a", "W": "a", "T": "a"}[kind]
        return _filled(source, source.choice(forms[kind]), depth - 1, forms)

    return re.sub(r"<([NSWTQ])>", fill, template)
