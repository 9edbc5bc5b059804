"""Where hookrouter keeps its things."""

from __future__ import annotations

import os
import stat
import sys

from hookrouter.util.errors import HookrouterError
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CONTROL",
    "GATE",
    "HOME_VARIABLE",
    "DocumentKind",
    "Home",
    "HomeError",
    "ensure",
    "ensure_once",
    "forget_ensured",
    "users_home",
]

HOME_VARIABLE = "HOOKROUTER_HOME"
"""The environment variable that puts everything in one folder."""


_private: set[str] = set()
"""The folders that :func:`ensure_once` has seen to in this process."""

CONTROL = "control"
"""The name of the router's socket in :attr:`Home.router` for ``hookrouter serve --status`` and its kin."""

GATE = "http"
"""The name of the HTTP gate's socket in :attr:`Home.router`."""


class DocumentKind(str):
    """A kind of documents, and who may see them: a text, declared once, beside what writes them.

    Kinds are for one machine alone, as is what tells of its processes and files, unless they are ``shared``: then the
    machines that share an engine read each other's, and one whose disk is lost gets them back from there.
    """

    __slots__ = ("area", "name", "shared")

    def __new__(cls, name: str, *, shared: bool = False, area: str = "") -> DocumentKind:
        """``name`` is of letters, digits and dashes, and not another kind's with a dash behind it."""
        kind = super().__new__(cls, name)
        kind.name, kind.shared, kind.area = name, shared, area
        return kind

    name: str
    """What it is, as a plain text."""
    shared: bool
    """Whether other machines may see its documents."""
    area: str
    """The set of documents that it is in: :data:`hookrouter.storage.engine.OUTBOX`, or empty."""


class HomeError(HookrouterError, OSError):
    """The environment does not say where hookrouter's home is; the message says what to set."""


class Home(Value):
    """The absolute paths of one hookrouter home. Nothing of it needs to exist."""

    config_file: str
    """``config.toml``."""
    state: str
    """The folder of documents and of the outbox."""
    logs: str
    """The folder of the journal."""
    cache: str
    """The folder of what can be rebuilt at any time."""
    prompts: str
    """The folder of the user's own prompts, which override the shipped ones."""

    @property
    def root(self) -> str:
        """The folder of ``config.toml``: the value of HOOKROUTER_HOME that names this home, if it is in one folder."""
        return os.path.dirname(self.config_file)

    @property
    def plugins(self) -> str:
        """The folder of plugins that are single files."""
        return os.path.join(self.root, "plugins")

    @property
    def trusted(self) -> str:
        """The folder of the projects whose own plugins a person has trusted, with a copy of each."""
        return os.path.join(self.root, "trusted")

    @property
    def router(self) -> str:
        """The folder of the resident router: its sockets and its lock."""
        return os.path.join(self.state, "router")

    @classmethod
    def in_folder(cls, folder: str) -> Home:
        """Return the home that has everything in one folder."""
        join = os.path.join
        return cls(
            config_file=join(folder, "config.toml"),
            state=join(folder, "state"),
            logs=join(folder, "logs"),
            cache=join(folder, "cache"),
            prompts=join(folder, "prompts"),
        )

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], platform: str = sys.platform) -> Home:
        """Return the home that an environment names.

        ``HOOKROUTER_HOME`` puts everything in one folder; else it is the user's platform directories: the XDG ones
        (relative values are ignored, as their specification says), on macOS (``platform`` "darwin") those below
        ``~/Library``. The user's home is HOME if that is absolute, else what the password database says.

        Raises HomeError, which is an OSError, if a folder is needed that neither of the two names, and if
        ``HOOKROUTER_HOME`` is relative to a working folder that is gone.
        """
        chosen = environ.get(HOME_VARIABLE)
        if chosen:
            if chosen == "~" or chosen.startswith("~/"):
                chosen = users_home(environ) + chosen[1:]
            try:
                return cls.in_folder(os.path.abspath(chosen))
            except OSError as error:
                raise HomeError(
                    f"{HOME_VARIABLE} is {chosen!r}, relative to a working folder that is gone "
                    f"({error.strerror}); set it to an absolute folder"
                ) from error
        join = os.path.join
        if platform == "darwin":
            library = join(users_home(environ), "Library")
            support = join(library, "Application Support", "hookrouter")
            return cls(
                config_file=join(support, "config.toml"),
                state=join(support, "state"),
                logs=join(library, "Logs", "hookrouter"),
                cache=join(library, "Caches", "hookrouter"),
                prompts=join(support, "prompts"),
            )

        def xdg(variable: str, default: str) -> str:
            value = environ.get(variable, "")
            return join(value if value.startswith("/") else join(users_home(environ), default), "hookrouter")

        config, state = xdg("XDG_CONFIG_HOME", ".config"), xdg("XDG_STATE_HOME", ".local/state")
        return cls(
            config_file=join(config, "config.toml"),
            state=join(state, "state"),
            logs=join(state, "logs"),
            cache=xdg("XDG_CACHE_HOME", ".cache"),
            prompts=join(config, "prompts"),
        )


def ensure(folder: str) -> None:
    """See to it that one of hookrouter's folders is there and is this user's alone.

    A missing one is made, with those above it that are missing (0700 each). One that is open to others is closed to
    them, if its file system knows modes; the folders above it are left as they are. Raises OSError if it cannot
    be made, and PermissionError if it belongs to another user, unless this is root.
    """
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        if _make(folder):
            return
        status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        import errno

        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    user = os.geteuid()
    if status.st_uid == user:
        if status.st_mode & 0o077:
            try:
                os.chmod(folder, status.st_mode & 0o700)
            except PermissionError:
                # A file system without modes; doctor tells of folders that stay open.
                return
    elif user != 0:
        import errno

        raise PermissionError(errno.EPERM, f"{folder} belongs to the user {status.st_uid}", folder)


def ensure_once(folder: str) -> None:
    """Do what :func:`ensure` does, the first time that this process asks for the folder. Raises as it does."""
    if folder not in _private:
        ensure(folder)
        _private.add(folder)


def forget_ensured() -> None:
    """Have :func:`ensure_once` look again: this process goes on with another call."""
    _private.clear()


def users_home(environ: Mapping[str, str]) -> str:
    """Return the user's home folder: an absolute ``HOME``, else what the password database says. Raises HomeError."""
    home = environ.get("HOME", "")
    if home.startswith("/"):
        return home
    # Only a broken environment is worth the import.
    import pwd

    try:
        known = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        known = ""
    if not known.startswith("/"):
        raise HomeError(
            f"HOME is {home!r}, and the password database names no home for the user {os.getuid()}; "
            f"set HOME or {HOME_VARIABLE} to an absolute folder"
        )
    return known


def _make(folder: str) -> bool:
    """Make a folder and its parents; return whether it was missing."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return False
    except FileNotFoundError:
        parent = os.path.dirname(folder)
        # Another process may make the same folders at this moment; a dangling link is there and is no folder.
        if parent in ("", folder) or not (_make(parent) or os.path.isdir(parent)):
            raise
        return _make(folder)
    return True
