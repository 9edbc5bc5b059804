"""Names that need no rows in the table of programs, from the same sources: programs, variables, settings of git."""

from __future__ import annotations

__all__ = [
    "COMMAND_VARIABLES",
    "CONFIG_OF_COMMANDS",
    "DOUBTFUL",
    "FIND_ALONE",
    "FIND_TAKING",
    "HARMLESS_CONFIG",
    "INTEGER_VARIABLES",
    "MODULES_OF_CODE",
    "NAME",
    "RESERVED",
    "STATE_PREFIXES",
    "STATE_PREFIXES_OF_ANY_CASE",
    "STATE_VARIABLES",
    "rows",
    "split_words",
]


NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""The pattern of a variable's name."""


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


RESERVED = split_words(
    "! { } [[ ]] case coproc do done elif else end esac fi for foreach function if in nocorrect repeat select then "
    "until while"
)
"""Words that begin, continue or end a compound command, in bash or zsh; ``time`` is read as a program."""


def rows(text: str) -> dict[str, tuple[str, str]]:
    """Return what stands below and behind each name. A line that begins with a blank belongs to the names above it."""
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("  "):
            options, behind = found[names[0]]
            found |= dict.fromkeys(names, (f"{options} {line.strip()}", behind))
        elif line and not line.startswith("#"):
            before, _, behind = line.partition(": ")
            names = before.split(", ")
            found |= dict.fromkeys(names, ("", behind))
    return found


_LISTS = rows("""
doubtful programs: run commands that their words, or what they read, name in ways of their own
  abduco adb agetty alacritty ansible ansible-console arch-chroot asciinema asdf autoexpect autossh aws-vault
  bash-static bb bear bosh box64 bpftrace bpython broot brush bubblewrap buildah bwrap byobu calife capsh cargo-watch
  catatonit cgexec chamber chef-apply chokidar choom chpst chrt clj clojure clush cmd colima colormake compiledb
  concurrently coresched cpulimit crictl cross-env-shell cset ctr cttyhack cu daemon daemonize datefudge dbus-launch
  dbus-run-session dc dhclient distcc distrobox distrobox-enter doppler dotenv dotenv-cli dotenvx dsh dtach dtruss
  dune dvtm eatmydata ed emacs emacsclient entr env-cmd env_parallel envchain envdir envuidgid erl es ex execa exim
  expect fab fakechroot fakeroot faketime feh fetchmail firejail flamegraph flatpak flatpak-spawn fly flyctl fnm foot
  foreman forever ftp fzf gdb gem getty ghci gita gnome-terminal gnuplot goenv goreman gs guix gum gvim heaptrack
  heroku honcho hush hwloc-bind hx hyperfine i3-msg i386 icecc iex imv incrontab incus infisical inotifyd
  intercept-build ion ipython irb jenv joe jshell jupyter just k3s kak kitty knife konsole ksh2020 ktrace landrun
  latexmk launchctl lckdo ld-linux ld-linux-aarch64 ld-linux-x86-64.so.2 ld-musl-aarch64 ld-musl-x86_64 ld.so ldso
  lein lerna lf lftp lima limactl lint-staged linux32 linux64 lksh lldb lockf loksh ltrace lxc lxc-attach lxc-execute
  m4 machinectl mamba mc mcedit meson micro micromamba minijail0 minikube mispipe mongo mongosh mosh mr mrsh msgfilter
  mu multipass multitime murex mutt nano newgrp nix nix-shell nnn nodemon nodenv nox npm-run npm-run-all nsenter
  nsjail numactl nush nvim nvm nx oc onchange openvpn openvt osascript osh overmind parallel parallel-ssh pdksh pdsh
  peco pee percol perf pgrphack pico pixi play pm2 posh powershell pppd prlimit process-compose procmail proot pseudo
  psh pssh puppet py-spy pyenv qemu-aarch64 qemu-aarch64-static qemu-x86_64 qemu-x86_64-static railway ranger rbenv rc
  red remsh repo rexec rksh rlogin rofi rosetta rr rtx run-p run-s run0 runcon runsv runuser rush rustup rvim rvm rye
  rzsh s6-setuidgid salt salt-call samply sandbox-exec sash sbcl sbt scan-build sccache schedtool schroot script
  scriptlive scsh sem sendmail setarch setlock setpriv setuidgid sftp sg shx sk snap socat softlimit sox sqlplus
  ssh-agent sshfs start-server-and-test start-stop-daemon startx strace su super supervisorctl swaymsg swipl
  systemd-cat systemd-dissect systemd-inhibit systemd-notify systemd-nspawn systemd-run systemd-socket-activate tclsh
  tcpserver tcpsvd teller telnet telnetd termtosvg timelimit toolbox torify truss tsocks tsx ttyrec turbo uclampset
  udhcpc udpsvd uftrace uname26 unicorn unshare urxvt usewithtor vagrant valgrind vi viddy vidir view vifm vim vimdiff
  vipe visudo volta watchexec watchman watchman-make watchmedo websocat wezterm wine wireit wish wpa_cli wsl
  x-terminal-emulator x86_64 xbindkeys xcrun xdg-terminal-exec xdotool xinit xrdb xterm yash ysh zellij zrun zx
doubtful subcommands: the same, the program and the subcommand joined by a plus
  aws+ecs+execute-command aws+ssm+send-command aws+ssm+start-session az+vm+run-command brew+bundle brew+ruby
  brew+sh conda+run gcloud+compute+ssh gh+alias gh+codespace+ssh gh+config+set gh+cs+ssh gh+extension+exec
  git+daemon git+filter-branch git+for-each-repo git+hook git+instaweb git+remote-ext git+send-email git+shell
  git+web--browse glab+config+set hatch+env+run hatch+run mix+cmd mix+do pdm+run podman+unshare tox+e tox+exec
state variables: change which commands shells or programs run
  APT_CONFIG CARGO CARGO_ENCODED_RUSTFLAGS CARGO_HOME HGRCPATH LESS LESSEDIT LESSGLOBALTAGS LESSKEY LESSKEYIN LESSKEYSRC
  LESSKEY_CONTENT MANOPT MORE RIPGREP_CONFIG_PATH RUSTC_WORKSPACE_WRAPPER RUSTDOC RUSTFLAGS
  BASHOPTS BASH_ALIASES BASH_CMDS BASH_ENV BASH_XTRACEFD CLASSPATH COMPILER_PATH DBUS_SESSION_BUS_ADDRESS
  DBUS_SYSTEM_BUS_ADDRESS ENV FPATH GCC_EXEC_PREFIX GCONV_PATH GIT_EXEC_PATH
  GIT_ALLOW_PROTOCOL
  GIT_TEMPLATE_DIR GNUMAKEFLAGS GOFLAGS GREP_OPTIONS HOME IFS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LESSCLOSE LESSOPEN
  MAKEFLAGS NODE_OPTIONS NULLCMD PATH PERL5DB PERL5OPT POSIXLY_CORRECT PROMPT_COMMAND PS4 PYTHONINSPECT
  PYTHONSTARTUP READNULLCMD RSYNC_RSH RUBYOPT RUSTC RUSTC_WRAPPER SHELL SHELLOPTS TAR_OPTIONS TOX_OVERRIDE
  XDG_CONFIG_HOME ZDOTDIR ZIPOPT _JAVA_OPTIONS aliases commands fpath functions galiases histchars options path
  saliases widgets
state prefixes: the same, by the beginning of their names
  BASH_FUNC_ CARGO_BUILD_ CARGO_TARGET_ DYLD_ GIT_CONFIG GIT_TEST_ LD_ LUA_INIT dis_
state prefixes of any case: the same, in small letters
  npm_config_ yarn_script_shell yarn_yarn_path
integer variables: have what they are given evaluated as arithmetic, in bash or zsh
  COLUMNS EGID ERRNO EUID FUNCNEST GID HISTCMD HISTSIZE KEYTIMEOUT LINES LISTMAX LOGCHECK MAILCHECK OPTIND PERIOD RANDOM
  SAVEHIST SECONDS SHLVL SRANDOM TTYIDLE UID
command variables: hold a command line that programs run
  AR AS FC LD LEX YACC
  BAT_PAGER BORG_PASSCOMMAND BORG_RSH CC CVSEDITOR CVS_RSH CXX DELTA_PAGER FCEDIT GH_BROWSER GH_EDITOR GH_PAGER HGEDITOR
  KUBECTL_EXTERNAL_DIFF KUBE_EDITOR P4DIFF P4EDITOR PSQL_EDITOR PSQL_PAGER RCLONE_PASSWORD_COMMAND
  RESTIC_PASSWORD_COMMAND RSYNC_CONNECT_PROG SUDO_EDITOR SVN_EDITOR SVN_SSH SYSTEMD_EDITOR SYSTEMD_PAGER
  BROWSER EDITOR FZF_DEFAULT_COMMAND GIT_ASKPASS GIT_DIFFTOOL_EXTCMD GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER
  GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND MANPAGER PAGER SSH_ASKPASS SUDO_ASKPASS VISUAL
modules of code: of Python, that are given texts in Python, or run another; others are programs like scripts
  pdb timeit code asyncio IPython bpython ptpython idlelib cProfile profile runpy trace
harmless config: settings of git, or beginnings of them, that name no command
  advice. author. blame. color. column. commit.gpgsign committer. core.abbrev core.autocrlf core.eol
  core.filemode core.ignorecase core.longpaths core.precomposeunicode core.quotepath core.symlinks diff.algorithm
  diff.mnemonicprefix diff.noprefix diff.renames fetch.prune format.pretty gc.auto http.postbuffer
  http.sslverify http.version init.defaultbranch log. merge.conflictstyle merge.ff protocol.file.allow
  protocol.version pull.ff pull.rebase push.autosetupremote push.default rebase.autostash rerere. safe.directory
  status. tag.gpgsign user.
config of commands: settings of git, or beginnings of them, whose value is a command line
  core.askpass core.editor core.pager core.sshcommand pager. sequence.editor
find alone: words of find's expressions (findutils 4.9, and BSD's) behind which nothing of theirs stands
  -H -L -P -O0 -O1 -O2 -O3 -a -and -o -or -not -true -false -print -print0 -ls -delete -prune -quit -depth -d -daystart
  -follow -mount -xdev -x -E -X -s -empty -executable -readable -writable -nogroup -nouser -noleaf
  -ignore_readdir_race -noignore_readdir_race -warn -nowarn -help --help -version --version --
find taking: those that take the word behind them
  -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -perm -links -inum
  -user -group -uid -gid -mtime -atime -ctime -mmin -amin -cmin -used -maxdepth -mindepth -newer -anewer -cnewer
  -samefile -fstype -context -regextype -printf -fprint -fprint0 -fls -files0-from -D -f
""")
DOUBTFUL = [
    name.replace("+", " ") for kind in ("doubtful programs", "doubtful subcommands") for name in _LISTS[kind][0].split()
]
STATE_VARIABLES = frozenset(_LISTS["state variables"][0].split())
STATE_PREFIXES = tuple(_LISTS["state prefixes"][0].split())
INTEGER_VARIABLES = frozenset(_LISTS["integer variables"][0].split())
STATE_PREFIXES_OF_ANY_CASE = tuple(_LISTS["state prefixes of any case"][0].split())
COMMAND_VARIABLES = frozenset(_LISTS["command variables"][0].split())
MODULES_OF_CODE = frozenset(_LISTS["modules of code"][0].split())
HARMLESS_CONFIG = tuple(_LISTS["harmless config"][0].split())
FIND_ALONE = frozenset(_LISTS["find alone"][0].split())
FIND_TAKING = frozenset(_LISTS["find taking"][0].split())
CONFIG_OF_COMMANDS = tuple(_LISTS["config of commands"][0].split())
