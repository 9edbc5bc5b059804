"""What is shown: the panel of a session, and the page over all of them."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hookrouter.pages import Block, Facts, Heading, Link, PageRequest, Preformatted, Table, Text
from hookrouter.queue.overview import overview

from hookrouter_git_state import git
from hookrouter_git_state.settings import Settings

if TYPE_CHECKING:
    from hookrouter.pages import Cell
    from hookrouter.queue.overview import SessionView

MOST = 40
"""So many folders are asked of, at once."""


def repository(view: SessionView, request: PageRequest) -> list[Block]:
    """Return the panel of one session; nothing if its folder is in no repository."""
    found = git.state(view.cwd) if view.cwd else None
    if found is None:
        return []
    settings = request.services.settings(Settings)
    branch, changed = found
    blocks: list[Block] = [Facts([("Branch", branch), ("Changed files", str(len(changed)))])]
    if changed:
        blocks.append(Preformatted("\n".join(changed[: settings.files])))
    if len(changed) > settings.files:
        blocks.append(Text(f"And {len(changed) - settings.files} more."))
    if commits := git.commits(view.cwd, settings.commits):
        blocks += [Heading("Last commits"), Table(["Commit", "When", "By", "Subject"], commits)]
    return blocks


def folders(request: PageRequest) -> list[Block]:
    """Return the page: each session with its folder, branch and last commit."""
    views = [view for view in overview(request.services, with_context=False) if view.cwd]
    asked = sorted({view.cwd for view in views})[:MOST]
    with ThreadPoolExecutor(max_workers=8) as pool:
        told = dict(zip(asked, pool.map(_row, asked), strict=True))
    rows: list[list[Cell]] = [
        [Link.to_session(view.session), view.cwd, *told[view.cwd]] for view in views if view.cwd in told
    ]
    if not rows:
        return [Text("No session has a folder that is known.")]
    left = [Text(f"{len(views) - len(rows)} more sessions are not shown.")] if len(views) > len(rows) else []
    return [Table(["Session", "Folder", "Branch", "Changed files", "Last commit"], rows), *left]


def _row(folder: str) -> list[str]:
    """Return branch, number of changed files and last commit of a folder; why not, if git cannot be asked."""
    try:
        found = git.state(folder)
        last = git.commits(folder, 1) if found else []
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"git: {error}", "", ""]
    if found is None:
        return ["no repository", "", ""]
    return [found[0], str(len(found[1])), " ".join(last[0]) if last else ""]
