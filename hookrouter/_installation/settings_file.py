"""Claude Code's settings files: where they are, and how hookrouter's entries get into one and out again.

What ``install`` had to create around its entries is kept in a document of the state folder, so that ``uninstall`` gives
back the text that was there before.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from time import strftime
from typing import TYPE_CHECKING, NamedTuple

from attrs import asdict, evolve

from hookrouter._installation.mirror import with_denied, without_denied
from hookrouter._installation.mod_keys import enabled_folder, with_mod, without_mod
from hookrouter._installation.settings_edit import InstallState, SettingsError, merge, registered
from hookrouter.storage.home import DocumentKind, HomeError, users_home
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso
from hookrouter.util.difference import unified
from hookrouter.util.system import sync

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._installation.registrations import Registration
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "SCOPES",
    "Change",
    "install",
    "is_shared",
    "is_user_file",
    "own_denials",
    "put_back",
    "read_text",
    "settings_path",
    "text_without_ours",
    "uninstall",
]

SCOPES = ("user", "project", "local")

STATE_KIND = DocumentKind("installation")
"""Kind of the documents that remember what an installation created, one for each settings file."""

_LOCK_SECONDS = 10.0


class Change(NamedTuple):
    """What an install or uninstall did, or with a dry run would do."""

    path: str
    """The settings file, as it was named."""
    before: str | None
    """Its text before; None if there was no file."""
    after: str | None
    """Its text after; None if there is to be no file."""
    backup: str | None
    """The copy of the former text; None if none was made."""

    @property
    def changed(self) -> bool:
        """Whether the file is, or would be, another one."""
        return self.before != self.after

    def diff(self) -> str:
        """Return a unified diff, empty if nothing changes."""
        return unified(self.path, self.before, self.after)


def settings_path(scope: str, environ: Mapping[str, str], folder: str) -> str:
    """Return the absolute path of a scope's settings file; ``project`` and ``local`` are those of ``folder``.

    Raises SettingsError if the user's home folder is not known.
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


def is_shared(path: str, environ: Mapping[str, str]) -> bool:
    """Say whether a settings file is one that a team commits: a project's ``.claude/settings.json``.

    A project is a folder in a work tree of git; the user's own file is none, wherever it is.
    """
    target = os.path.abspath(path)
    folder = os.path.dirname(target)
    if os.path.basename(target) != "settings.json" or os.path.basename(folder) != ".claude":
        return False
    if is_user_file(target, environ):
        return False
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        if os.path.lexists(os.path.join(folder, ".git")):
            return True
    return False


def is_user_file(path: str, environ: Mapping[str, str]) -> bool:
    """Say whether a settings file is the user's own, which holds in all projects."""
    with suppress(SettingsError):
        return os.path.realpath(settings_path("user", environ, "")) == os.path.realpath(path)
    return False


def install(
    path: str,
    wanted: Sequence[Registration],
    store: DocumentStore,
    *,
    mod_folder: str | None = None,
    deny: Sequence[str] | None = (),
    edit: Callable[[str | None], str | None] | None = None,
    dry_run: bool = False,
) -> Change:
    """Bring our entries in a settings file up to date, creating the file if need be.

    ``edit`` returns the text to which they are added, of the file's: both changes are one.
    The mod that lies in ``mod_folder`` is installed beside them; with None, none is. ``deny`` is what Claude Code
    itself is to refuse; None leaves that as it is.
    The former text is copied beside the file first. A link is followed, and the file keeps its mode. Raises
    SettingsError, with the file untouched.
    """
    return _apply(path, wanted, store, mod_folder, deny, edit, dry_run=dry_run)


def uninstall(path: str, store: DocumentStore, *, dry_run: bool = False) -> Change:
    """Take our entries out of a settings file, and what install created for them. Raises SettingsError."""
    return _apply(path, (), store, None, (), dry_run=dry_run)


def text_without_ours(path: str, text: str, store: DocumentStore) -> str | None:
    """Return what uninstall would make of a text of a settings file. Raises SettingsError and StoreError."""
    return _merged(path, text, (), None, (), _load_state(store, os.path.realpath(path)))[0]


def put_back(path: str, before: str | None, after: str, store: DocumentStore) -> str | None:
    """Put a text that a settings file had in the place of ``before``; return the path of the backup.

    What an install remembers is forgotten if the text has no entry of ours. Raises SettingsError, with the file
    untouched: also if it does not hold ``before`` any more.
    """
    target = os.path.realpath(path)
    try:
        with store.lock(STATE_KIND, target, _LOCK_SECONDS):
            if _current_text(target) != before:
                raise SettingsError(f"{path}: another program changed the file just now; run the command again")
            backup = None if before == after else _write(path, target, before, after)
            if not registered(after):
                store.delete(STATE_KIND, target)
            return backup
    except StoreError as error:
        raise SettingsError(f"{path}: the state folder cannot be used: {error}") from None


def own_denials(path: str, store: DocumentStore) -> tuple[str, ...]:
    """Return what an install has added to a settings file's ``permissions.deny``. Raises StoreError."""
    state = _load_state(store, os.path.realpath(path))
    return state.denied if state is not None else ()


def read_text(path: str) -> str | None:
    """Return a settings file's text; None if there is no file. Raises SettingsError."""
    try:
        # Not blocking, because a named pipe would otherwise wait for a writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
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


def _apply(
    path: str,
    wanted: Sequence[Registration],
    store: DocumentStore,
    mod_folder: str | None,
    deny: Sequence[str] | None,
    edit: Callable[[str | None], str | None] | None = None,
    *,
    dry_run: bool,
) -> Change:
    target = os.path.realpath(path)
    try:
        if dry_run:
            before = _current_text(target)
            base = before if edit is None else edit(before)
            after, _ = _merged(path, base, wanted, mod_folder, deny, _load_state(store, target))
            return Change(path, before, after, None)
        with store.lock(STATE_KIND, target, _LOCK_SECONDS):
            before = _current_text(target)
            former = _load_state(store, target)
            base = before if edit is None else edit(before)
            after, state = _merged(path, base, wanted, mod_folder, deny, former)
            change = Change(path, before, after, None)
            # Someone may have removed the file, or our entries, since the folders were made for it.
            made = former.folders if former is not None else ()
            state = evolve(state, folders=tuple(dict.fromkeys([*_missing_folders(os.path.dirname(target)), *made])))
            if change.changed:
                if wanted:
                    # First, so that no entry is ever in the file without what is needed to take it out.
                    _save_state(store, target, state)
                change = change._replace(backup=_write(path, target, before, after))
            if not wanted:
                for folder in made:
                    # It stays if anything is in it.
                    with suppress(OSError):
                        os.rmdir(folder)
                store.delete(STATE_KIND, target)
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
    path: str,
    text: str | None,
    wanted: Sequence[Registration],
    mod_folder: str | None,
    deny: Sequence[str] | None,
    state: InstallState | None,
) -> tuple[str | None, InstallState]:
    try:
        # First: what is left by our entries must be what there was before them.
        if text is not None and (mod_folder is None or enabled_folder(text) != mod_folder):
            text = without_mod(text)
        ours = state.denied if state is not None else ()
        deny = ours if deny is None else deny
        kept = tuple(rule for rule in ours if rule in deny)
        if text is not None:
            text = without_denied(text, [rule for rule in ours if rule not in kept])
        after, state = merge(text, wanted, state)
        if after is not None and mod_folder is not None:
            after = with_mod(after, mod_folder)
        if after is not None:
            after, added = with_denied(after, deny)
            state = evolve(state, denied=tuple(dict.fromkeys([*kept, *added])))
        return after, state
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
    """Copy the text beside the file (beside the link, if it is one) with the file's mode; return the copy's path."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    name = f"{os.path.abspath(path)}.hookrouter-backup-{strftime('%Y%m%dT%H%M%S')}"
    for number in range(1000):
        candidate = f"{name}-{number}" if number else name
        try:
            descriptor = os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        try:
            with open(descriptor, "wb") as file:
                file.write(text.encode())
                os.fchmod(file.fileno(), mode)
        except BaseException:
            # Half a backup would be taken for a whole one.
            os.unlink(candidate)
            raise
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
            sync(file.fileno())
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


def _load_state(store: DocumentStore, target: str) -> InstallState | None:
    document = store.read(STATE_KIND, target)
    if document is None:
        return None
    text, hooks, events = document.get("text"), document.get("hooks"), document.get("events")
    folders, denied = document.get("folders"), document.get("denied")
    return InstallState(
        missing=document.get("missing") is True,
        folders=tuple(str(folder) for folder in folders) if isinstance(folders, list) else (),
        text=text if isinstance(text, str) else None,
        hooks=hooks if isinstance(hooks, str) else None,
        events={str(key): str(value) for key, value in events.items()} if isinstance(events, dict) else {},
        denied=tuple(str(rule) for rule in denied) if isinstance(denied, list) else (),
    )


def _save_state(store: DocumentStore, target: str, state: InstallState) -> None:
    store.write(STATE_KIND, target, {"version": 1, "settings": target, "saved_at": iso(), **asdict(state)})
