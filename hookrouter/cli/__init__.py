"""The command line. Commands of plugins stand on the modules that :data:`PUBLIC` names; the others are the core's own.

``application`` has the services, ``errors`` what a command raises, ``options`` the options that several commands have
and their results, ``text_file`` reads the file that an option names, ``terminal`` what may be written to a terminal,
``completion`` the words that options offer to a shell, ``answering`` decides on an open dialog, ``config_file`` adds to
the user's config.toml, ``registered`` tells for which tools hooks are installed, ``fleet`` has other machines run a
command, and ``errand`` says what it may not do there.
"""

PUBLIC = (
    "answering",
    "application",
    "completion",
    "config_file",
    "errand",
    "errors",
    "fleet.asking",
    "fleet.option",
    "fleet.routing",
    "options",
    "registered",
    "terminal",
    "text_file",
)
"""The modules of this package that plugins may import."""
