"""hookrouter routes every Claude Code hook event through pluggy plugins.

The public names are loaded on first use, because ``hookrouter run`` starts on every tool call: importing this
package costs nothing, importing a name costs what that name needs.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter._version import __version__ as __version__
    from hookrouter.context import Context as Context
    from hookrouter.events import *
    from hookrouter.hookspecs.answering import AnswerSpecs as AnswerSpecs
    from hookrouter.hookspecs.commands import Command as Command
    from hookrouter.hookspecs.commands import CommandSpecs as CommandSpecs
    from hookrouter.hookspecs.events import *
    from hookrouter.hookspecs.permission_denied import *
    from hookrouter.hookspecs.permission_request import *
    from hookrouter.hookspecs.post_tool_use import *
    from hookrouter.hookspecs.post_tool_use_failure import *
    from hookrouter.hookspecs.pre_tool_use import *
    from hookrouter.hookspecs.settings import SettingsSpecs as SettingsSpecs
    from hookrouter.markers import hookimpl as hookimpl
    from hookrouter.markers import override as override
    from hookrouter.markers import stateless as stateless
    from hookrouter.markers import waits as waits
    from hookrouter.replies import *
    from hookrouter.tools.ask_user_question import *
    from hookrouter.util.errors import HookrouterError as HookrouterError

_HOMES = {
    "__version__": "_version",
    "Command": "hookspecs.commands",
    "Context": "context",
    "HookrouterError": "util.errors",
    "hookimpl": "markers",
    "override": "markers",
    "stateless": "markers",
    "waits": "markers",
}
_FORM = ("Annotation", "AskUserQuestionInput", "AskUserQuestionOutput", "Option", "Question")


def _home(name: str) -> str:
    """Return the module of this package that has a name."""
    if name in _HOMES:
        return _HOMES[name]
    if name in _FORM:
        return "tools.ask_user_question"
    return "replies" if name.endswith("Reply") else "hookspecs" if name.endswith("Specs") else "events"


if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "__all__":
            from hookrouter import events, hookspecs, replies

            found = [*_HOMES, *_FORM, *events.__all__, *replies.__all__, *hookspecs.__all__]
            return sorted(
                {name for name in found if name[0].isupper() and not name.isupper()} | {*_HOMES} - {"__version__"}
            )
        if name in _HOMES or name[:1].isupper():
            value = getattr(__import__(f"{__name__}.{_home(name)}", fromlist=[name]), name, None)
            if value is not None:
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
