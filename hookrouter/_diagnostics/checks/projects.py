"""Are the projects that were trusted what they were, and does this one wait for somebody to look at it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import OK, WARNING, Finding
from hookrouter._plugins.files import has_own_plugins
from hookrouter._plugins.project import find_project, trusted_projects
from hookrouter.config import HOLDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place

__all__ = ["RULES_OFF", "ProjectsCheck"]

RULES_OFF = f"a project's rules do not hold: the plugin {HOLDING} is off ([plugins.{HOLDING}] enabled = false)"


class ProjectsCheck:
    """The projects' own plugins."""

    name = "projects"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found."""
        here = find_project(place.app.home, {}, place.folder)
        if here is None and place.folder is not None and has_own_plugins(place.folder):
            message = f"{place.folder} has plugins of its own, and nothing of them runs until you trust it"
            yield Finding(WARNING, self.name, message, f"hookrouter trust {place.folder}")
        projects = trusted_projects(place.app.home)
        for path, project in projects:
            # Of the one here, its plugins' check has told.
            if project.problem and not (here is not None and here.plugins and here.folder == project.folder):
                what = f"the project {project.folder}: {project.problem}" if project.folder else project.problem
                fix = f"hookrouter trust {project.folder}, or hookrouter untrust {project.folder}"
                yield Finding(WARNING, self.name, what, fix if project.folder else f"remove {path}")
        is_off = not place.app.config.plugin(HOLDING).enabled
        if is_off and any(project.rules for _, project in projects):
            yield Finding(WARNING, self.name, RULES_OFF, f"hookrouter plugins enable {HOLDING}")
        if projects and not any(project.problem for _, project in projects):
            yield Finding(OK, self.name, f"{len(projects)} trusted")
