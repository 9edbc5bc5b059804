"""Every "did you mean" with ten typing errors as people make them: swapped, lost, doubled and neighbouring letters."""

from __future__ import annotations

import pytest

from hookrouter._commands import BUILT_IN
from hookrouter._config.reader import examine
from hookrouter.samples import find
from hookrouter.util.text import did_you_mean
from hookrouter_webhook.templates import FIELDS

COMMANDS = [*(command.name for command in BUILT_IN), "answer", "questions", "history", "pause", "resume", "skill"]
CHANNELS = ["keys", "reply"]
HOOKS = [
    "pre_tool_use",
    "post_tool_use",
    "pre_tool_use_bash",
    "pre_tool_use_ask_user_question",
    "session_start",
    "stop",
]

TYPED = [
    (COMMANDS, {"histroy": "history", "hisotry": "history", "anwser": "answer", "answr": "answer",
                "quetions": "questions", "qestions": "questions", "docter": "doctor", "stat": "stats",
                "outbx": "outbox", "puase": "pause"}),
    (CHANNELS, {"rply": "reply", "repyl": "reply", "replay": "reply", "repl": "reply", "relpy": "reply", "key": "keys",
                "kyes": "keys", "keyz": "keys", "KEYS": "keys", "kesy": "keys"}),
    (HOOKS, {"pre_tool_ues": "pre_tool_use", "pretooluse": "pre_tool_use", "pre_tooluse_bash": "pre_tool_use_bash",
             "pre_tool_use_bsah": "pre_tool_use_bash", "post_tol_use": "post_tool_use", "sesion_start": "session_start",
             "sessionstart": "session_start", "stopp": "stop", "on_stop": "stop",
             "pre_tool_use_ask_user_qestion": "pre_tool_use_ask_user_question"}),
    (list(FIELDS), {"sesion": "session", "sessoin": "session", "subjet": "subject", "subejct": "subject", "txt": "text",
                    "agnet": "agent", "kidn": "kind", "session-id": "session_id", "tool_useid": "tool_use_id",
                    "TEXT": "text"}),
    (["work", "deploy", "staging", "night-shift"], {"wrok": "work", "wokr": "work", "wrk": "work", "worj": "work",
     "depoly": "deploy", "dploy": "deploy", "stagin": "staging", "stagign": "staging", "nightshift": "night-shift",
     "nigth-shift": "night-shift"}),
]  # fmt: skip


@pytest.mark.parametrize(("allowed", "typed"), TYPED, ids=["commands", "channels", "hooks", "webhook", "sessions"])
def test_words(allowed: list[str], typed: dict[str, str]) -> None:
    assert len(typed) == 10
    assert {found: did_you_mean(found, allowed) for found in typed} == {
        found: f"did you mean {meant!r}?" for found, meant in typed.items()
    }


EVENT_ERRORS = {
    "PreTolUse": "'PreToolUse'",
    "PreToolUes": "'PreToolUse'",
    "PreTool": "'PreToolUse'",
    "PostToolsUse": "'PostToolUse'",
    "SesionStart": "'SessionStart'",
    "Stopp": "'Stop'",
    "AskUserQuestion": "'PreToolUse' of the tool 'AskUserQuestion'",
    "AskUserQuestoin": "'PreToolUse' of the tool 'AskUserQuestion'",
    "PreToolUseWebFetch": "'PreToolUse' of the tool 'WebFetch'",
    "PreToolUseBsah": "'PreToolUse' of the tool 'Bash'",
}
TOOL_ERRORS = {
    "Bsah": "Bash",
    "bash": "Bash",
    "Edti": "Edit",
    "AskUserQestion": "AskUserQuestion",
    "WebFech": "WebFetch",
    "WebSerach": "WebSearch",
    "Wrtie": "Write",
    "NotebokEdit": "NotebookEdit",
    "GLOB": "Glob",
    "Gerp": "Grep",
}


@pytest.mark.parametrize(("typed", "meant"), EVENT_ERRORS.items())
def test_events(typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean {meant}\\?$"):
        find(typed)


@pytest.mark.parametrize(("typed", "meant"), TOOL_ERRORS.items())
def test_tools(typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{meant}'\\?"):
        find("PreToolUse", typed)


CONFIG_ERRORS = {
    "[answr]\nwait = 1": "answer",
    "[anwser]\nwait = 1": "answer",
    "[gatways.a]\ntype = 'inbox'": "gateways",
    "[[agent]]\nid = 'a'": "agents",
    "[[agents]]\nid = 'a'\nsession = ['x']": "sessions",
    "[[agents]]\nid = 'a'\nworkdir = ['/x']": "workdirs",
    "[[agents]]\nid = 'a'\ngatway = 'inbox'": "gateway",
    "[[agents]]\nid = 'a'\ngateway = 'inbxo'": "inbox",
    "[answer]\nremind_aftr = 60": "remind_after",
    "[answer]\nescalte_to = 'inbox'": "escalate_to",
}


@pytest.mark.parametrize(("text", "meant"), CONFIG_ERRORS.items())
def test_config(text: str, meant: str) -> None:
    (problem,) = examine(text.encode())
    assert problem.suggestion == meant
    assert f"did you mean {meant!r}?" in problem.line
