"""Do http hooks reach the router's gate, where the settings have some of ours?"""

from __future__ import annotations

import http.client
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hookrouter._diagnostics.checks.check import ERROR, OK, Finding
from hookrouter._diagnostics.checks.system import claude_version
from hookrouter._installation.http_entries import is_ours
from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import SCOPES, read_text, settings_path
from hookrouter._serving.token import TOKEN_VARIABLE, read_token, token_file
from hookrouter.util import fastjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrouter._diagnostics.checks.check import Place

__all__ = ["HttpHooksCheck"]

MINIMUM_CLIENT = (2, 1, 63)
"""The oldest Claude Code that sends http hooks."""

_GATE_SECONDS = 3.0
_PROXIES = ("HTTP_PROXY", "http_proxy")
_EXCEPTIONS = ("NO_PROXY", "no_proxy")


class HttpHooksCheck:
    """The http hooks of ours in the user's, the project's and the local settings file."""

    name = "http hooks"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        documents = list(_documents(place))
        urls = sorted({handler["url"] for document in documents for handler in _handlers(document)})
        if not urls:
            return
        address = place.app.config.serve.http
        environ = _environ(place.app.environ, documents)
        findings = [
            *self._address(urls, address),
            *self._patterns(urls, documents),
            *self._proxy(urls, environ),
            *self._token(place, environ),
            *self._client(place),
            *self._gate(place, address),
        ]
        yield from findings or [Finding(OK, self.name, f"{len(urls)} events are sent to {address}, and it answers")]

    def _address(self, urls: list[str], address: str) -> Iterator[Finding]:
        strangers = [url for url in urls if not url.startswith(f"http://{address}/")]
        if strangers:
            message = f"{strangers[0]} is not at the address of [serve] http ({address or 'none'})"
            yield Finding(ERROR, self.name, message, "hookrouter install --front http")

    def _patterns(self, urls: list[str], documents: list[dict[str, Any]]) -> Iterator[Finding]:
        lists = [document["allowedHttpHookUrls"] for document in documents if "allowedHttpHookUrls" in document]
        if not lists:
            return
        patterns = [text for one in lists if isinstance(one, list) for text in one if isinstance(text, str)]
        blocked = [url for url in urls if not any(_matches(pattern, url) for pattern in patterns)]
        if blocked:
            fix = f'add "http://{_host(blocked[0])}/*" to allowedHttpHookUrls, with the port'
            yield Finding(
                ERROR, self.name, f"allowedHttpHookUrls matches {blocked[0]} in no entry: it is not sent", fix
            )

    def _proxy(self, urls: list[str], environ: Mapping[str, str]) -> Iterator[Finding]:
        proxy = next((name for name in _PROXIES if environ.get(name)), "")
        excepted = {one.strip() for name in _EXCEPTIONS for one in environ.get(name, "").split(",")}
        host = _host(urls[0]).rpartition(":")[0]
        if proxy and not excepted & {host, _host(urls[0]), "*"}:
            fix = f'add "env": {{"NO_PROXY": "{host}"}} to settings.json'
            yield Finding(ERROR, self.name, f"{proxy} is set, and hooks to {host} go through it", fix)

    def _token(self, place: Place, environ: Mapping[str, str]) -> Iterator[Finding]:
        path = token_file(place.app.home)
        fix = f'export {TOKEN_VARIABLE}="$(cat {path})" where claude is started'
        try:
            token = read_token(place.app.home)
        except OSError as error:
            yield Finding(ERROR, self.name, str(error), f"rm {path}; hookrouter serve --restart")
            return
        told = environ.get(TOKEN_VARIABLE, "")
        if not told:
            yield Finding(ERROR, self.name, f"{TOKEN_VARIABLE} is not set here: what is sent is refused", fix)
        elif token and told != token:
            yield Finding(ERROR, self.name, f"{TOKEN_VARIABLE} is not this home's token: what is sent is refused", fix)

    def _client(self, place: Place) -> Iterator[Finding]:
        version = claude_version(place.app.environ)
        if version is not None and version < MINIMUM_CLIENT:
            told, oldest = (".".join(map(str, one)) for one in (version, MINIMUM_CLIENT))
            message = f"Claude Code {told} is older than {oldest}: it sends none"
            yield Finding(ERROR, self.name, message, "claude update")

    def _gate(self, place: Place, address: str) -> Iterator[Finding]:
        fix = "hookrouter serve; see hookrouter serve --status"
        if not address:
            return
        try:
            token = read_token(place.app.home)
            status = _status(address, token)
        except (OSError, http.client.HTTPException) as error:
            message = f"nothing answers at {address} ({error}): questions and tool calls pass by hookrouter"
            yield Finding(ERROR, self.name, message, fix)
            return
        # To this user's token it says that this is the wrong method, and to another one that it knows it not.
        if status != 405:
            message = f"what answers at {address} is not this home's router (status {status})"
            yield Finding(ERROR, self.name, message, fix)


def _documents(place: Place) -> Iterator[dict[str, Any]]:
    paths = [] if place.settings_file is None else [place.settings_file]
    try:
        scopes = SCOPES if place.folder is not None else SCOPES[:1]
        paths += [settings_path(scope, place.app.environ, place.folder or "") for scope in scopes]
    except SettingsError:
        return
    for path in dict.fromkeys(paths):
        try:
            text = read_text(path)
            document = fastjson.loads(text) if text else None
        except (SettingsError, OSError, ValueError):
            # The check of the settings says so.
            continue
        if isinstance(document, dict):
            yield document


def _handlers(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    events = document.get("hooks")
    groups = (
        [one for value in events.values() if isinstance(value, list) for one in value]
        if isinstance(events, dict)
        else []
    )
    for group in groups:
        handlers = group.get("hooks") if isinstance(group, dict) else None
        yield from (one for one in handlers or [] if is_ours(one)) if isinstance(handlers, list) else ()


def _environ(environ: Mapping[str, str], documents: list[dict[str, Any]]) -> dict[str, str]:
    """Return what Claude Code takes for its environment: this one, and that of the settings, which wins."""
    found = dict(environ)
    for document in documents:
        own = document.get("env")
        if isinstance(own, dict):
            found.update({str(name): value for name, value in own.items() if isinstance(value, str)})
    return found


def _matches(pattern: str, url: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), url) is not None


def _host(url: str) -> str:
    return url.removeprefix("http://").partition("/")[0]


def _status(address: str, token: str) -> int:
    """Return the status of a request that makes no call. Raises OSError, HTTPException."""
    host, _, port = address.rpartition(":")
    with closing(http.client.HTTPConnection(host.strip("[]"), int(port), timeout=_GATE_SECONDS)) as connection:
        connection.request("GET", "/hook/stop", headers={"Host": address, "Authorization": f"Bearer {token}"})
        return connection.getresponse().status
