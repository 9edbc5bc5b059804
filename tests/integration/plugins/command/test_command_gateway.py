"""The gateway that runs a program: what the program gets, and how its end is judged."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

import hookrouter_command
from hookrouter.messaging.gateway import Message, SendResult
from support.tabled_gateway import TabledGateway


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_command.gateway())


def wake(text: str = "hello", **fields: str) -> Message:
    made = Message(
        "question", "main", "local", "my session", "sid", "toolu_1", "subject", text, "17-1-0", "2026-11-21T22:54Z"
    )
    return made._replace(data={"questions": [{"question": "Which?"}]}, **fields)


def run(script: str, text: str = "hello", fields: dict[str, str] | None = None, **settings: object) -> SendResult:
    """Deliver to a Python program."""
    return gateway().deliver(wake(text, **(fields or {})), {"argv": [sys.executable, "-c", script], **settings})


@pytest.fixture
def log(hookrouter_home: Path) -> Path:
    return hookrouter_home / "logs" / "gateway-local.log"


def test_the_message_comes_on_stdin_and_never_in_argv(tmp_path: Path) -> None:
    text = 'It\'s "quoted"; $(touch no) \u2713\n' * 20_000
    script = f"import sys; open({str(tmp_path / 'got')!r}, 'wb').write(sys.stdin.buffer.read()); print(sys.argv)"

    woken = run(script, text)

    assert woken.delivered, woken.reason
    assert (tmp_path / "got").read_bytes() == text.encode()


def test_a_program_that_does_not_read_is_no_problem() -> None:
    assert run("pass", "x" * 1_000_000).delivered


def test_json_format_gives_the_whole_message(tmp_path: Path) -> None:
    script = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"

    assert run(script, "half a pair \ud800", format="json").delivered

    assert json.loads((tmp_path / "got").read_text()) == wake("half a pair \ud800")._asdict()


def test_the_environment_says_what_it_is_about_and_hides_what_belongs_to_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {
        "CLAUDE_CODE_MESSAGING_TOKEN": "secret",
        "CLAUDE_CODE_MESSAGING_SOCKET": "/socket",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "asking",
        "TMUX_PANE": "%3",
        "CLAUDE_PLUGIN_OPTION_API_KEY": "secret",
        "CLAUDE_PLUGIN_DATA": "/d",
        "CLAUDE_CODE_SSE_PORT": "1234",
        "CLAUDE_CODE_BRIDGE_SESSION_ID": "asking",
        "TRACEPARENT": "00-1-1-01",
    }
    for name, value in {**hidden, "CLAUDE_CONFIG_DIR": "/c", "TMUX": "/tmp/tmux,1,0"}.items():
        monkeypatch.setenv(name, value)
    script = f"import json, os; json.dump(dict(os.environ), open({str(tmp_path / 'got')!r}, 'w'))"

    assert run(script, fields={"session": "odd\0 \ud800 näme"}).delivered

    environ = json.loads((tmp_path / "got").read_text())
    about = {name: value for name, value in environ.items() if name.startswith("HOOKROUTER_WAKE_")}
    assert about == {
        "HOOKROUTER_WAKE_ID": "17-1-0",
        "HOOKROUTER_WAKE_KIND": "question",
        "HOOKROUTER_WAKE_SESSION": "odd  näme",
        "HOOKROUTER_WAKE_TOOL_USE_ID": "toolu_1",
        "HOOKROUTER_WAKE_AGENT": "main",
    }
    assert not hidden.keys() & environ.keys()
    assert environ["CLAUDE_CONFIG_DIR"] == "/c"
    assert environ["TMUX"] == "/tmp/tmux,1,0"
    assert environ["HOOKROUTER_HOME"] == os.environ["HOOKROUTER_HOME"]


def test_only_the_variables_of_choice_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("LC_", "TMUX"))]:
        # Python itself sets LC_CTYPE in an environment without a language.
        monkeypatch.delenv(name)
    for name, value in {"LC_ALL": "C", "KEPT": "1", "OTHER": "2", "TMUX_PANE": "%3", "SOME_TOKEN": "geheim"}.items():
        monkeypatch.setenv(name, value)
    secret = tmp_path / "token"
    secret.write_text("from a file\n")
    secret.chmod(0o600)
    script = f"import json, os; json.dump(dict(os.environ), open({str(tmp_path / 'got')!r}, 'w'))"

    woken = run(
        script,
        env=["KEPT", "LC_*", "TMUX*"],
        set={"MODE": "night", "KEPT": "3", "API_TOKEN_file": str(secret), "PASS_env": "SOME_TOKEN"},
    )

    assert woken.delivered, woken.reason
    environ = json.loads((tmp_path / "got").read_text())
    assert {name: value for name, value in environ.items() if not name.startswith("HOOKROUTER_WAKE_")} == {
        "LC_ALL": "C",
        "KEPT": "3",
        "MODE": "night",
        "API_TOKEN": "from a file",
        "PASS": "geheim",
    }
    assert environ["HOOKROUTER_WAKE_ID"] == "17-1-0"


def test_a_program_is_found_with_the_path_that_it_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-agent").write_text("#!/bin/sh\n")
    (tmp_path / "my-agent").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    for settings, found in (({}, True), ({"env": ["HOME"]}, False), ({"env": ["P*H"]}, True)):
        table = {"argv": ["my-agent"], **settings}
        assert (gateway().check(table) == []) is found
        assert gateway().deliver(wake(), table).delivered is found
    assert gateway().check({"argv": ["my-agent"], "env": [], "set": {"PATH": str(tmp_path)}}) == []


def test_output_is_appended_to_a_private_log(log: Path) -> None:
    for _ in range(2):
        assert run("import sys; print('out', flush=True); print('err', file=sys.stderr)").delivered

    assert log.read_text() == "out\nerr\nout\nerr\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_gateway_name_cannot_lead_the_log_elsewhere(hookrouter_home: Path) -> None:
    assert run("print('out')", fields={"gateway": "../../x"}).delivered

    assert [path.parent for path in hookrouter_home.parent.rglob("*x.log")] == [hookrouter_home / "logs"]


def test_a_program_that_prints_its_environment_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.write_text("a secret of a file\n")
    key.chmod(0o600)
    monkeypatch.setenv("OF_A_VARIABLE", "a secret\x01of a variable")
    script = "import os, sys; sys.stderr.write(str(os.environ) + os.environ['B'] + 'x' * 1990); sys.exit(3)"

    woken = run(script, set={"A_file": str(key), "B_env": "OF_A_VARIABLE", "C": "shown"}, env=["PATH"])

    assert not [part for part in ("a secret", "of a file", "variable") if part in woken.reason]
    shown = run(
        "import os, sys; sys.exit(repr(os.environ['A'] + os.environ['C']))", set={"A_file": str(key), "C": "shown"}
    )
    assert shown.reason.endswith("'***shown'")


def test_a_failing_program_is_reported_with_the_end_of_its_stderr(log: Path) -> None:
    woken = run("import sys; sys.stderr.write('x' * 100_000 + '\\nno such agent\\x1b[0m\\n'); sys.exit(3)")

    assert (woken.delivered, woken.retry) == (False, True)
    assert woken.reason.startswith(f"{sys.executable} exited with 3: xxx")
    assert woken.reason.endswith("\nno such agent\\x1b[0m")
    assert len(woken.reason) < 2200
    assert 2200 < log.stat().st_size < 100_000


def test_a_program_killed_by_a_signal_says_which() -> None:
    assert run("import os; os.kill(os.getpid(), 9)").reason == f"{sys.executable} was killed by SIGKILL"


def test_a_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('waiting', file=sys.stderr, flush=True)\n"
        "time.sleep(60)\n"
    )

    woken = run(script, timeout=1.5)

    assert not woken.delivered
    assert woken.reason == f"{sys.executable} took longer than its timeout of 1.5 s and was killed: waiting"
    for pid in pids.read_text().split():
        deadline = time.monotonic() + 10
        while is_running(pid):
            assert time.monotonic() < deadline, f"process {pid} survived"
            time.sleep(0.02)


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_may_leave_an_agent_running_behind(tmp_path: Path) -> None:
    child = f"import time, pathlib; time.sleep(0.5); print('late'); pathlib.Path({str(tmp_path / 'done')!r}).touch()"
    started = time.monotonic()

    woken = run(f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])")

    assert woken.delivered
    assert time.monotonic() - started < 10
    while not (tmp_path / "done").exists():
        assert time.monotonic() - started < 20, "the agent did not survive the program that started it"
        time.sleep(0.02)


def test_output_without_end_does_not_fill_the_disk(log: Path) -> None:
    script = "import os\nwhile True: os.write(1, b'x' * 1_000_000); os.write(2, b'y' * 1_000_000)"
    woken = run(script + "; import time; time.sleep(0.05)", timeout=2.5)

    assert "timeout" in woken.reason
    assert log.stat().st_size < 60_000_000


def test_a_missing_program_is_said_and_kept_for_a_retry() -> None:
    woken = gateway().deliver(wake(), {"argv": ["no-such-agent", "--wake"]})

    assert woken == SendResult(delivered=False, reason="program not found: no-such-agent", retry=True)
    assert gateway().deliver(wake(), {"argv": ["~/no/agent"]}).reason.startswith("program not found: /")


def test_a_program_without_permission_or_interpreter_is_told_apart(tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text("#!/no/such/interpreter\n")
    assert gateway().deliver(wake(), {"argv": [str(script)]}).reason == f"program not executable: {script}"

    script.chmod(0o700)
    assert (
        "the interpreter that its first line names was not found"
        in gateway().deliver(wake(), {"argv": [str(script)]}).reason
    )


def test_the_program_runs_in_the_folder_of_choice(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\npwd > where\n")
    (tmp_path / "agent").chmod(0o700)

    assert gateway().deliver(wake(), {"argv": ["./agent"], "cwd": str(tmp_path)}).delivered
    assert (tmp_path / "where").read_text() == f"{tmp_path}\n"

    assert run("import os; open('here', 'w').write(os.getcwd())").delivered
    assert Path("~/here").expanduser().read_text() == os.environ["HOME"]

    woken = run("pass", cwd=str(tmp_path / "gone"))
    assert (woken.delivered, woken.reason) == (False, f"cwd is not a folder: {tmp_path / 'gone'}")


@pytest.mark.parametrize(("code", "retry"), [(1, True), (75, True), (127, True), (64, False), (65, False), (78, False)])
def test_a_program_says_by_its_exit_code_whether_trying_again_can_help(code: int, retry: bool) -> None:
    result = run(f"import sys; sys.exit({code})")
    assert (result.delivered, result.retry) == (False, retry)
    assert f"exited with {code}" in result.reason


def test_a_program_that_was_killed_or_took_too_long_is_tried_again() -> None:
    assert run("import os; os.kill(os.getpid(), 9)").retry
    assert run("import time; time.sleep(60)", timeout=0.2).retry
