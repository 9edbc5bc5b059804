"""hookrouter's entries in Claude Code's settings.json: which ones it wants, and how they get in and out.

Every other key, hook and character of the file stays as it is: edits are made in the text
(:mod:`hookrouter.json_edit`). An entry is ours by its command, the program ``hookrouter`` with the word ``run`` and an
event, whatever folder the program is in; so an entry of a former installation is updated, never doubled. What
``install`` had to create around its entries is kept in a document of the state folder, so that ``uninstall`` gives
back the text that was there before.

Facts about the file: measured on Claude Code 2.1.330.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import stat
import tempfile
from contextlib import suppress
from time import strftime
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import asdict, evolve, field, frozen

from hookrouter.clock import iso
from hookrouter.discovery_scan import SCAN_SECONDS
from hookrouter.executable import PROGRAM, script_argv
from hookrouter.home import HOME_VARIABLE, HomeError, users_home
from hookrouter.hooks import RAW_HOOK, hook_names
from hookrouter.json_edit import Array, Document, JsonTextError, Object, Scalar
from hookrouter.registry import UNKNOWN_HOOKS, PluginStatus
from hookrouter.store import StoreBusy, StoreError
from hookrouter.tables import EVENTS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.json_edit import Node
    from hookrouter.registry import PluginInfo
    from hookrouter.store import Store
    from hookrouter.tables import EventRecord

__all__ = [
    "SCOPES",
    "Change",
    "Difference",
    "Entry",
    "Listener",
    "Record",
    "Registration",
    "SettingsError",
    "claude_plugins",
    "differences",
    "hook_command",
    "hooks_disabled",
    "install",
    "listeners",
    "merge",
    "parse_command",
    "read_text",
    "registered",
    "registrations",
    "settings_path",
    "uninstall",
    "wanted_registrations",
]

SCOPES = ("user", "project", "local")

RECORD_KIND = "installation"
"""Kind of the documents that remember what an installation created, one for each settings file."""

MCP_MATCHER = "mcp__.*"

REPLACING_EVENTS = ("WorktreeCreate",)
"""Events at which a registered hook takes over from Claude Code: it must create the worktree, and one that prints no
path fails. ``raw_event``, which only watches, must not register there."""

UNBLOCKED_EVENTS = ("PermissionRequest", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle")
"""Events that can be refused, but not by ``onFailure``: Claude Code ignores it, or (PermissionRequest) exit code 2."""

_MINIMUM_TIMEOUT = 60.0

_MARGIN = SCAN_SECONDS + 5.0
"""Seconds beside the plugins' own: a scan for plugins, and the start of the process on a machine under load."""

_FIXED_TIMEOUTS = ("SessionEnd", "MessageDisplay")
"""Events that keep Claude Code's own timeout. All hooks of a session's end share it, and a larger number there makes
every exit wait for up to that long; the other runs for each batch of lines while Claude writes."""

_STRICT_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events under which an entry of a wrong shape makes Claude Code refuse the whole file; under any other it drops the
entry alone, and it drops events that it does not know."""

_LOCK_SECONDS = 10.0

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_EVENT_WORD = re.compile(r"[a-z]+(-[a-z]+)*")


class SettingsError(Exception):
    """The settings file cannot be used as it is, or not be written. Nothing was changed; the message says why."""


@frozen
class Registration:
    """One matcher group that hookrouter wants in the settings: one event, one matcher, one command."""

    event: str
    matcher: str | None
    """None for every call of the event (the key is then left out)."""
    command: str
    """A shell command line."""
    timeout: float
    """Seconds."""
    block_on_failure: bool = False
    """Whether Claude Code is to refuse the call where the program crashes, hangs or cannot be started."""

    def group(self) -> dict[str, Any]:
        """Return the matcher group as JSON has it."""
        matcher = {} if self.matcher is None else {"matcher": self.matcher}
        return {**matcher, "hooks": [self.handler()]}

    def handler(self) -> dict[str, Any]:
        """Return the handler as JSON has it."""
        timeout = int(self.timeout) if self.timeout == int(self.timeout) else self.timeout
        failure = {"onFailure": "block"} if self.block_on_failure else {}
        return {"type": "command", "command": self.command, "timeout": timeout, **failure}


class Listener(NamedTuple):
    """A plugin for which Claude Code must call hookrouter."""

    hooks: tuple[str, ...]
    timeout: float
    """Seconds that all its calls in one run may take together."""
    closed: bool
    """Whether it is set to fail closed."""
    waits: Mapping[str, float] = {}
    """The hooks in which it may wait, each with the most seconds that this adds."""


class Entry(NamedTuple):
    """One handler of ours that stands in a settings file."""

    event: str
    matcher: str | None
    """None for every call; the empty string stands for a matcher that is not a text."""
    command: str
    group: int
    position: int
    handler: Object


class OurCommand(NamedTuple):
    """A command line of ours, taken apart."""

    program: str
    event_word: str
    home: str | None
    """The HOOKROUTER_HOME that it sets, if any."""


class Difference(NamedTuple):
    """One way in which a settings file is not what an install would make it."""

    text: str
    harmless: bool
    """Whether every hook is still called as it should be."""


@frozen
class Record:
    """What the settings file lacked before the first install, so that uninstall can take it away again."""

    missing: bool = False
    """The file was not there."""
    folders: tuple[str, ...] = ()
    """The folders that were made for it, innermost first."""
    text: str | None = None
    """The file's whole text where it held no member at all."""
    hooks: str | None = None
    """The text of an empty ``hooks`` object or of its null, "" where there was none, None where it had events."""
    events: Mapping[str, str] = field(factory=dict)
    """The same for each event's array that was empty ("[]", as it was spelled), null or not there ("")."""


class Change(NamedTuple):
    """What an install or uninstall did, or with a dry run would do."""

    path: str
    """The settings file, as it was named."""
    before: str | None
    """Its text before; None where there was no file."""
    after: str | None
    """Its text after; None where there is to be no file."""
    backup: str | None
    """The copy of the former text; None where none was made."""

    @property
    def changed(self) -> bool:
        """Whether the file is, or would be, another one."""
        return self.before != self.after

    def diff(self) -> str:
        """Return a unified diff, empty where nothing changes."""
        lines = []
        for line in difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            self.path if self.before is not None else os.devnull,
            self.path if self.after is not None else os.devnull,
        ):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        return "".join(lines)


def settings_path(scope: str, environ: Mapping[str, str], folder: str) -> str:
    """Return the absolute path of a scope's settings file; ``project`` and ``local`` are those of ``folder``.

    Raises SettingsError where the user's home folder is not known.
    """
    if scope == "user":
        home = environ.get("CLAUDE_CONFIG_DIR")
        if not home:
            try:
                home = os.path.join(users_home(environ), ".claude")
            except HomeError:
                fault = f"HOME is {environ.get('HOME', '')!r}, so there is no user's settings file"
                raise SettingsError(f"{fault}; set HOME, or name the file with --settings") from None
        return os.path.abspath(os.path.join(home, "settings.json"))
    name = {"project": "settings.json", "local": "settings.local.json"}[scope]
    return os.path.abspath(os.path.join(folder, ".claude", name))


def hook_command(script: Sequence[str], home: str | None, event_word: str) -> str:
    """Return the shell command line of one event.

    A shell string and no ``args``: that form exists only since Claude Code 2.1.139. With ``home`` (the HOOKROUTER_HOME
    of the installation) the command sets the variable itself, because the hook inherits Claude Code's environment and
    not that of the shell in which ``install`` ran.
    """
    prefix = "" if home is None else f"HOOKROUTER_HOME={shlex.quote(home)} "
    return f"{prefix}{shlex.join(script)} run {event_word}"


def parse_command(command: str, arguments: Sequence[str] | None = None) -> OurCommand | None:
    """Take a command of ours apart; None for any other, also for one that does more than run hookrouter.

    ``arguments`` are the handler's ``args``; with them, ``command`` is the program alone.
    """
    if arguments is not None:
        words = [command, *arguments]
    else:
        try:
            words = shlex.split(command)
        except ValueError:
            return None
    home = None
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        home = value if name == "HOOKROUTER_HOME" else home
    if len(words) > 3 and words[-4:-2] == ["-m", PROGRAM]:
        program, rest = words[0], words[-2:]
    else:
        program, rest = (words[0], words[1:]) if words and os.path.basename(words[0]) == PROGRAM else ("", [])
    if len(rest) != 2 or rest[0] != "run" or not _EVENT_WORD.fullmatch(rest[1]):
        return None
    return OurCommand(program, rest[1], home)


def listeners(plugins: Iterable[PluginInfo], config: Config) -> list[Listener]:
    """Return the plugins for which Claude Code must call hookrouter.

    The active ones, and broken ones that are set to fail closed: they can only refuse where they are called.
    """
    found = []
    for plugin in plugins:
        settings = config.plugin(plugin.name)
        closed = settings.on_error == "closed"
        if plugin.status == PluginStatus.ACTIVE or (plugin.status == PluginStatus.BROKEN and closed):
            hooks = plugin.hooks if plugin.hooks_known else UNKNOWN_HOOKS
            found.append(Listener(hooks, settings.timeout, closed, plugin.waits))
    return found


def registrations(plugins: Sequence[Listener], script: Sequence[str], home: str | None) -> list[Registration]:
    """Return the entries that these plugins need, events in Claude Code's order, so that no call runs hookrouter twice.

    A hook that is about no event needs no entry. An event's own hook (or ``raw_event``) needs every call, so no tool is
    named beside it; exact tool names share one group, but those that a plugin guards which is set to fail closed have
    one of their own; MCP tools have their own too, because one character outside the names makes the whole matcher an
    unanchored expression.

    The timeout leaves room for every plugin to take all of its own, and to wait where it may. ``onFailure`` is set
    where a guard could not refuse by itself, because the whole program failed (measured on Claude Code 2.1.330: a
    crash, a timeout, a program that cannot be started and a reply of the wrong shape then refuse the call; clients
    that do not know the key, 2.0.76 and 2.1.200, read the file all the same and let the call through).
    """
    wanted: list[Registration] = []
    for word, record in EVENTS.items():
        event = record.name
        matchers = _matchers(record)
        seconds = 0.0
        needs: dict[str | None, _Needs] = {}
        for plugin in plugins:
            called = {hook: matchers[hook] for hook in plugin.hooks if hook in matchers}
            seconds += plugin.timeout if called else 0
            for hook, matcher in called.items():
                need = needs.get(matcher, _Needs())
                needs[matcher] = _Needs(need.closed or plugin.closed, need.waits + plugin.waits.get(hook, 0))
        fixed = event in _FIXED_TIMEOUTS
        timeout = record.timeout if fixed else max(_MINIMUM_TIMEOUT, seconds + _MARGIN)
        can_block = record.can_block and event not in UNBLOCKED_EVENTS
        command = hook_command(script, home, word)
        wanted.extend(
            Registration(
                *(event, matcher, command, timeout if fixed else timeout + need.waits),
                block_on_failure=need.closed and can_block,
            )
            for matcher, need in _groups(needs)
        )
    return wanted


class _Needs(NamedTuple):
    """What the plugins behind one matcher need of its registration."""

    closed: bool = False
    """Whether one of them is set to fail closed."""
    waits: float = 0.0
    """Seconds that they may wait together."""


def _groups(needs: Mapping[str | None, _Needs]) -> list[tuple[str | None, _Needs]]:
    """Join matchers into as few groups as they need: of exact tool names those that need the same."""
    if None in needs:
        closed = any(need.closed for need in needs.values())
        return [(None, _Needs(closed, sum(need.waits for need in needs.values())))]
    groups: list[tuple[str | None, _Needs]] = []
    for need in sorted(set(needs.values())):
        exact = sorted(name for name in needs if name and name != MCP_MATCHER and needs[name] == need)
        if exact:
            groups.append(("|".join(exact), need))
    if MCP_MATCHER in needs:
        groups.append((MCP_MATCHER, needs[MCP_MATCHER]))
    return groups


def _matchers(event: EventRecord) -> dict[str, str | None]:
    """Return the hooks that calls of an event concern, each with the narrowest matcher for those calls."""
    tools = {**{tool: tool for tool in TOOLS}, "mcp__server__tool": MCP_MATCHER}
    found: dict[str, str | None] = {hook_names(event.name, tool)[0]: matcher for tool, matcher in tools.items()}
    # Last, because on an event that is about no tool all of the names above are the event's own hook.
    for hook in hook_names(event.name):
        if hook != RAW_HOOK or event.name not in REPLACING_EVENTS:
            found[hook] = None
    return found


def wanted_registrations(app: Services) -> list[Registration]:
    """Return the entries that an environment's plugins need, for the running installation of hookrouter."""
    home = app.home.root if app.environ.get(HOME_VARIABLE) else None
    return registrations(listeners(app.plugins.listing(), app.config), script_argv(), home)


def registered(text: str) -> list[Entry]:
    """Return our entries in a settings file's text. Raises SettingsError."""
    return _entries(_parse(text))


def differences(text: str | None, wanted: Sequence[Registration]) -> list[Difference]:
    """Compare a settings text (None: no file) with what is wanted; nothing where it is current.

    Raises SettingsError for a text that cannot be used.
    """
    missing = list(wanted)
    found = []
    for entry in [] if text is None else registered(text):
        label = _label(entry.event, entry.matcher)
        match = _match(entry, missing)
        if match is None:
            found.append(Difference(f"{label}: registered, but no active plugin needs it", harmless=True))
            continue
        missing.remove(match)
        if entry.command != match.command:
            found.append(Difference(f"{label}: runs {entry.command!r} instead of {match.command!r}", harmless=False))
            continue
        if entry.handler.get("args") is not None:
            found.append(Difference(f"{label}: has its arguments in args, which old clients ignore", harmless=True))
        if _seconds(entry.handler.get("timeout")) != match.timeout:
            found.append(Difference(f"{label}: its timeout is not {match.timeout:g} s", harmless=True))
        if match.block_on_failure and not _blocks_on_failure(entry.handler):
            text = f'{label}: it lacks "onFailure": "block", so a plugin that fails closed cannot refuse in a crash'
            found.append(Difference(text, harmless=False))
        elif _blocks_on_failure(entry.handler) and not match.block_on_failure:
            text = f'{label}: it has "onFailure": "block", and no plugin that fails closed listens'
            found.append(Difference(text, harmless=True))
    found.extend(Difference(f"{_label(want.event, want.matcher)}: not registered", harmless=False) for want in missing)
    return found


def claude_plugins(text: str) -> list[str]:
    """Return the names under which a settings file enables hookrouter's own plugin of Claude Code, if it does."""
    try:
        enabled = json.loads(text).get("enabledPlugins")
    except (ValueError, AttributeError, RecursionError):
        return []
    if not isinstance(enabled, dict):
        return []
    return [name for name, value in enabled.items() if name.partition("@")[0] == PROGRAM and value is True]


def hooks_disabled(text: str) -> bool:
    """Say whether a settings file switches all hooks off (``disableAllHooks``). Raises SettingsError."""
    switch = _root(_parse(text)).get("disableAllHooks")
    return isinstance(switch, Scalar) and switch.value is True


def merge(text: str | None, wanted: Sequence[Registration], record: Record | None) -> tuple[str | None, Record]:
    """Put our entries into a settings text (None: no file), or take them out with an empty ``wanted``.

    Entries that are already there are left, or updated in place; those that nothing asks for are removed, with every
    container that ``record`` says an install had made for them. ``record`` None means that this is not known: then
    whatever our entries leave empty goes. Returns the new text (None: the file should not be there) and what the next
    call needs to know. Raises SettingsError for a text that cannot be used.
    """
    bom = "\ufeff" if text is not None and text.startswith("\ufeff") else ""
    body = None if text is None else text[len(bom) :]
    blank = body is None or not body.strip(" \t\r\n")
    document = _parse("{}\n" if blank or body is None else body)
    found = _entries(document)
    if not found:
        if not wanted:
            return text, Record()
        record = _record(document, body if blank else None, missing=body is None)
    elif record is None:
        record = Record(hooks="", events={entry.event: "" for entry in found})

    missing = list(wanted)
    touched = []
    position = 0
    while position < len(found):
        entry = found[position]
        match = _match(entry, missing)
        if match is None:
            document = _drop(document, entry)
            touched.append(entry.event)
        else:
            missing.remove(match)
            document = _update(document, entry, match)
            position += 1
        found = _entries(document)
    for want in missing:
        record = evolve(record, events={**_new_event(document, want.event), **record.events})
        document = _add(document, want)
    for event in dict.fromkeys(touched):
        document = _prune_event(document, event, record)
    hooks = _hooks(document)
    if touched and hooks is not None and not hooks.elements:
        document = _prune_hooks(document, record)
        if record.missing and not _root(document).elements:
            return None, record
        if record.text is not None and not _root(document).elements:
            return bom + record.text, record
    return bom + document.text, record


def install(path: str, wanted: Sequence[Registration], store: Store, *, dry_run: bool = False) -> Change:
    """Bring our entries in a settings file up to date, creating the file if need be.

    The former text is copied beside the file first. A link is followed, and the file keeps its mode. Raises
    SettingsError, with the file untouched.
    """
    return _apply(path, wanted, store, dry_run=dry_run)


def uninstall(path: str, store: Store, *, dry_run: bool = False) -> Change:
    """Take our entries out of a settings file, and what install created for them. Raises SettingsError."""
    return _apply(path, (), store, dry_run=dry_run)


def read_text(path: str) -> str | None:
    """Return a settings file's text; None where there is no file. Raises SettingsError."""
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{path}: not a regular file")
            content = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from None


def _apply(path: str, wanted: Sequence[Registration], store: Store, *, dry_run: bool) -> Change:
    target = os.path.realpath(path)
    try:
        if dry_run:
            before = _current_text(target)
            after, _ = _merged(path, before, wanted, _load_record(store, target))
            return Change(path, before, after, None)
        with store.lock(RECORD_KIND, target, _LOCK_SECONDS):
            before = _current_text(target)
            former = _load_record(store, target)
            after, record = _merged(path, before, wanted, former)
            change = Change(path, before, after, None)
            # Someone may have removed the file, or our entries, since the folders were made for it.
            made = former.folders if former is not None else ()
            record = evolve(record, folders=tuple(dict.fromkeys([*_missing_folders(os.path.dirname(target)), *made])))
            if change.changed:
                if wanted:
                    # First, so that no entry is ever in the file without what is needed to take it out.
                    _save_record(store, target, record)
                change = change._replace(backup=_write(path, target, before, after))
            if not wanted:
                for folder in made:
                    # It stays where anything is in it.
                    with suppress(OSError):
                        os.rmdir(folder)
                store.delete(RECORD_KIND, target)
            return change
    except StoreBusy as error:
        raise SettingsError(f"{path}: another install or uninstall is at work ({error})") from None
    except StoreError as error:
        raise SettingsError(f"{path}: the state folder cannot be used: {error}") from None


def _current_text(target: str) -> str | None:
    try:
        return read_text(target)
    except SettingsError as error:
        raise SettingsError(f"{error}; the file was left as it is") from None


def _merged(
    path: str, text: str | None, wanted: Sequence[Registration], record: Record | None
) -> tuple[str | None, Record]:
    try:
        return merge(text, wanted, record)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}; the file was left as it is") from None


def _write(path: str, target: str, before: str | None, after: str | None) -> str | None:
    """Put the new text in the place of the old one, and return the path of the backup."""
    try:
        if before is not None and not os.access(target, os.W_OK):
            raise SettingsError(f"{path}: the file is read-only; make it writable, or use --dry-run to see the change")
        if after is None:
            os.unlink(target)
            return None
        folder = os.path.dirname(target)
        for missing in reversed(_missing_folders(folder)):
            os.mkdir(missing, 0o700)
        backup = None if before is None else _backup(path, before)
        _replace(target, before, after)
    except UnicodeEncodeError:
        raise SettingsError(f"{path}: the path of hookrouter's script is not UTF-8, JSON cannot hold it") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror or error}") from None
    return backup


def _backup(path: str, text: str) -> str:
    """Copy the text beside the file (beside the link, where it is one) with the file's mode; return the copy's path."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    name = f"{os.path.abspath(path)}.hookrouter-backup-{strftime('%Y%m%dT%H%M%S')}"
    for number in range(1000):
        candidate = f"{name}-{number}" if number else name
        try:
            descriptor = os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with open(descriptor, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
        return candidate
    raise FileExistsError(17, "too many backups of this second", name)


def _replace(target: str, before: str | None, after: str) -> None:
    """Write the text under another name in the same folder, then take the place of the file."""
    content = after.encode()
    descriptor, temporary = tempfile.mkstemp(prefix=".hookrouter-", dir=os.path.dirname(target))
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            if before is not None:
                state = os.stat(target)
                os.fchmod(file.fileno(), stat.S_IMODE(state.st_mode))
                # Only the superuser may give a file away; for anyone else it is their own already.
                with suppress(PermissionError):
                    os.fchown(file.fileno(), state.st_uid, state.st_gid)
            file.flush()
            os.fsync(file.fileno())
        if read_text(target) != before:
            raise SettingsError(f"{target}: another program changed the file just now; run the command again")
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _missing_folders(folder: str) -> list[str]:
    """Return the folders that are not there on the way to ``folder``, innermost first."""
    missing = []
    while folder and not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _load_record(store: Store, target: str) -> Record | None:
    document = store.read(RECORD_KIND, target)
    if document is None:
        return None
    text, hooks, events = document.get("text"), document.get("hooks"), document.get("events")
    folders = document.get("folders")
    return Record(
        missing=document.get("missing") is True,
        folders=tuple(str(folder) for folder in folders) if isinstance(folders, list) else (),
        text=text if isinstance(text, str) else None,
        hooks=hooks if isinstance(hooks, str) else None,
        events={str(key): str(value) for key, value in events.items()} if isinstance(events, dict) else {},
    )


def _save_record(store: Store, target: str, record: Record) -> None:
    store.write(RECORD_KIND, target, {"version": 1, "settings": target, "saved_at": iso(), **asdict(record)})


def _label(event: str, matcher: str | None) -> str:
    return event if matcher is None else f"{event} ({matcher})"


def _parse(text: str) -> Document:
    """Parse a settings text and check the shapes that the edits go through."""
    try:
        document = Document(text.removeprefix("\ufeff"))
    except JsonTextError as error:
        raise SettingsError(f"cannot be read: {error}") from None
    root = document.root
    if not isinstance(root, Object):
        raise _shape(document, root, "the file", "an object")
    hooks = root.get("hooks")
    if hooks is None or _is_null(hooks):
        return document
    if not isinstance(hooks, Object):
        raise _shape(document, hooks, '"hooks"', "an object")
    for event in hooks.elements:
        if event.key not in _STRICT_EVENTS or _is_null(event.value):
            continue
        if not isinstance(event.value, Array):
            raise _shape(document, event.value, f'"hooks.{event.key}"', "an array")
        for number, group in enumerate(event.value.elements):
            place = f"hooks.{event.key}[{number}]"
            if not isinstance(group.value, Object):
                raise _shape(document, group.value, f'"{place}"', "an object")
            handlers = group.value.get("hooks")
            if handlers is None:
                continue
            if not isinstance(handlers, Array):
                raise _shape(document, handlers, f'"{place}.hooks"', "an array")
            for index, handler in enumerate(handlers.elements):
                if not isinstance(handler.value, Object):
                    raise _shape(document, handler.value, f'"{place}.hooks[{index}]"', "an object")
    return document


def _is_null(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _shape(document: Document, node: Node, what: str, wanted: str) -> SettingsError:
    if isinstance(node, Object):
        found = "an object"
    elif isinstance(node, Array):
        found = "an array"
    else:
        found = document.raw(node)
    return SettingsError(f"{what} must be {wanted}, found {found} at {document.position(node.start)}")


def _root(document: Document) -> Object:
    assert isinstance(document.root, Object)  # noqa: S101 - checked by _parse
    return document.root


def _hooks(document: Document) -> Object | None:
    hooks = _root(document).get("hooks")
    return hooks if isinstance(hooks, Object) else None


def _event(document: Document, event: str) -> Array | None:
    hooks = _hooks(document)
    groups = None if hooks is None else hooks.get(event)
    return groups if isinstance(groups, Array) else None


def _handlers(document: Document, event: str, group: int) -> Array:
    groups = _event(document, event)
    value = groups.elements[group].value if groups is not None else None
    handlers = value.get("hooks") if isinstance(value, Object) else None
    assert isinstance(handlers, Array)  # noqa: S101 - only called for a place that _entries has found
    return handlers


def _entries(document: Document) -> list[Entry]:
    hooks = _hooks(document)
    found = []
    for event in hooks.elements if hooks is not None else ():
        for number, group in enumerate(_elements(event.value)):
            if not isinstance(group, Object):
                continue
            for position, handler in enumerate(_elements(group.get("hooks"))):
                command = _our_command(handler) if isinstance(handler, Object) else None
                if isinstance(handler, Object) and command is not None:
                    found.append(Entry(event.key or "", _matcher(group), command, number, position, handler))
    return found


def _elements(node: Node | None) -> list[Node]:
    return [element.value for element in node.elements] if isinstance(node, Array) else []


def _matcher(group: Object) -> str | None:
    matcher = group.get("matcher")
    if matcher is None:
        return None
    text = _string(matcher)
    if text is None:
        return ""
    return text if text not in ("", "*") else None


def _string(node: Node | None) -> str | None:
    return node.value if isinstance(node, Scalar) and node.is_string and isinstance(node.value, str) else None


def _our_command(handler: Object) -> str | None:
    command = _string(handler.get("command"))
    if _string(handler.get("type")) != "command" or command is None:
        return None
    arguments = handler.get("args")
    if arguments is None:
        return command if parse_command(command) else None
    words = [_string(word) for word in _elements(arguments)]
    texts = [word for word in words if word is not None]
    return shlex.join([command, *texts]) if len(texts) == len(words) and parse_command(command, texts) else None


def _match(entry: Entry, wanted: Sequence[Registration]) -> Registration | None:
    return next((want for want in wanted if (want.event, want.matcher) == (entry.event, entry.matcher)), None)


def _outdated(handler: Object, want: Registration) -> bool:
    if handler.get("args") is not None or _string(handler.get("command")) != want.command:
        return True
    return _seconds(handler.get("timeout")) != want.timeout or _blocks_on_failure(handler) != want.block_on_failure


def _blocks_on_failure(handler: Object) -> bool:
    return _string(handler.get("onFailure")) == "block"


def _seconds(timeout: Node | None) -> float | None:
    if not isinstance(timeout, Scalar) or timeout.is_string or not isinstance(timeout.value, str):
        return None
    return float(timeout.value)


def _record(document: Document, text: str | None, *, missing: bool) -> Record:
    """Describe what is not there before the first entry goes in. ``text`` is that of a file without any JSON."""
    root, hooks = _root(document), _hooks(document)
    if text is None and not root.elements and not missing:
        text = document.text
    if hooks is None:
        null = root.get("hooks")
        return Record(missing=missing, text=text, hooks="" if null is None else document.raw(null))
    return Record(missing=missing, text=text, hooks=None if hooks.elements else document.raw(hooks))


def _new_event(document: Document, event: str) -> dict[str, str]:
    groups, hooks = _event(document, event), _hooks(document)
    if groups is None:
        null = None if hooks is None else hooks.get(event)
        return {event: "" if null is None else document.raw(null)}
    return {} if groups.elements else {event: document.raw(groups)}


def _update(document: Document, entry: Entry, want: Registration) -> Document:
    """Bring one handler up to date.

    Keys that someone added to it stay, but for ``args``, which changes the command, and an ``onFailure`` that blocks
    where no plugin asks for that.
    """
    if not _outdated(entry.handler, want):
        return document
    superfluous = ["args"] if want.block_on_failure or not _blocks_on_failure(entry.handler) else ["args", "onFailure"]
    for key in superfluous:
        handler = _handler(document, entry)
        if handler.get(key) is not None:
            document = document.remove(handler, handler.index(key))
    for key, value in want.handler().items():
        handler = _handler(document, entry)
        current = handler.get(key)
        if current is None:
            document = document.append(handler, value, key)
        elif key != "timeout" or _seconds(current) != want.timeout:
            document = document.replace(current, json.dumps(value, ensure_ascii=False))
    return document


def _handler(document: Document, entry: Entry) -> Object:
    handler = _handlers(document, entry.event, entry.group).elements[entry.position].value
    assert isinstance(handler, Object)  # noqa: S101 - the place of an entry that _entries has found
    return handler


def _drop(document: Document, entry: Entry) -> Document:
    """Take one handler out, and its group where nothing else is in it."""
    handlers = _handlers(document, entry.event, entry.group)
    if len(handlers.elements) > 1:
        return document.remove(handlers, entry.position)
    groups = _event(document, entry.event)
    assert groups is not None  # noqa: S101 - the place of an entry that _entries has found
    return document.remove(groups, entry.group)


def _add(document: Document, want: Registration) -> Document:
    groups, hooks = _event(document, want.event), _hooks(document)
    if groups is not None:
        return document.append(groups, want.group())
    if hooks is not None:
        other = hooks.get(want.event)
        if other is None:
            return document.append(hooks, [want.group()], want.event)
        if not _is_null(other):
            raise _shape(document, other, f'"hooks.{want.event}"', "an array")
        return _add(document.replace(other, "[]"), want)
    null = _root(document).get("hooks")
    if null is not None:
        return _add(document.replace(null, "{}"), want)
    return document.append(_root(document), {want.event: [want.group()]}, "hooks")


def _prune_event(document: Document, event: str, record: Record) -> Document:
    """Bring an event's array, if our entries left it empty, back to what it was before them."""
    groups, hooks = _event(document, event), _hooks(document)
    before = record.events.get(event)
    if groups is None or hooks is None or groups.elements or before is None:
        return document
    return document.replace(groups, before) if before else document.remove(hooks, hooks.index(event))


def _prune_hooks(document: Document, record: Record) -> Document:
    root, hooks = _root(document), _hooks(document)
    if hooks is None or record.hooks is None:
        return document
    return document.replace(hooks, record.hooks) if record.hooks else document.remove(root, root.index("hooks"))
