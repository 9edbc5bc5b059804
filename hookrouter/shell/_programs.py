"""What programs and builtins do with their words, as data: which run another command, and which options hold one.

Programs that are not here, and options of those whose row has ``*``, run nothing that a command line names. That is
what their manuals say; what a program does by itself, by its files or by its network is no matter of a command line.

A row begins with the name of a program, or of all that take the same, and what stands behind its options; the options
are in the lines below it:

==============  ====================================================================================================
``-a``          an option without a value
``-a:``         an option with one, in the same word or the next
``-a?``         an option with a value that stands in the same word, if it has one
``-a!``         with it, nothing is run
``-a=text``     its value is a command line for a shell
``-a=config``   its value is a setting of git, ``KEY=VALUE``
``-a=name``     its value is the name of a variable
``-a=code``     its value is a text in the program's own language
``-a=sql``      its value is a text for a database's client, which has commands of its own
``-a=module``   its value is a module of Python, and what follows is the module's
``-a=file``     its value is a file or a module; more than a name is a text in the program's own language
``-a=pipe``     its value is a file, or ``|`` and a command line for a shell
``-a=python``   its value is a version of Python, or the program that is to be Python
``-a=number``   its value is a number
``-a=replaced`` its value stands in the command for what is read
``-a=doubt``    with it, it is not known what is run
``-N``          ``-`` and digits
``-LONG``       long options may have one dash, or more than two
``+``           the first word may be letters of options without a ``-``
``*``           other options take no part in what is run
``WORD``        one word
``WORDS``       any words, with options between them
``ASSIGNMENTS`` any number of ``NAME=VALUE``
``COMMAND``     the words of a command, if there are any
``OPTIONS``     options again
``DASHES``      all up to ``--``, and behind it the words of a command, if there are any
``LINE``        words that, joined by blanks, are a command line, if there are any
``TEXT``        one word that is a command line
``SUBCOMMAND``  the name of a subcommand; its row is that of both names, else that of ``*``, if there is one
``NAMES``       names of variables that get a value
``DECLARE``     names of variables, or ``NAME=VALUE``
``NUMBERS``     numbers
``LET``         arithmetic
``SCRIPT``      a file in the program's own language, else it reads its input; what follows is the script's
``SQL``         any words, of which some are texts for a database's client; else it reads its input
``PLUS``        any words, of which those with a ``+`` run commands
``CALLS``       any words, of which those with more than a name are texts in the program's own language
``PLAIN``       any words of letters, digits and few signs
``STATE`` …     with any word there, the doubt of that name
==============  ====================================================================================================

Sources: bash(1) of 5.2, zshbuiltins(1) of 5.9, the manual pages of coreutils 9.1, findutils 4.9, util-linux 2.38,
procps 4.0, sudo 1.9.13, OpenSSH 9.2, GNU tar 1.34, sed 4.8 and make 4.3, rsync 3.2.7, git 2.39, and the documentation
of docker 27, kubectl 1.31, npm 10, pnpm 9, yarn 4, uv 0.5, poetry 1.8 and tmux 3.3, for whatever is named after them.
"""

from __future__ import annotations

from hookrouter.shell._lists import DOUBTFUL, rows

__all__ = ["PROGRAMS", "READ_APART", "SHELLS", "known_name"]


SHELLS = {"bash": "bash", "rbash": "bash", "zsh": "zsh", "sh": "sh", "dash": "sh", "ash": "sh"}
"""Shells whose texts can be read, and as what."""

PROGRAMS = rows("""
# Builtins and precommand modifiers of bash and zsh
-, builtin, noglob, nocorrect: COMMAND
command: COMMAND
  -p -v! -V!
exec: COMMAND
  -c -l -a:
time: ASSIGNMENTS COMMAND
  -p -a -v -q -f: -o: --format: --output: --append --verbose
eval: LINE
trap: TEXT
  -l! -p!
coproc, repeat: STATE
source, .: FILE
alias: STATE
  -p
autoload, bind, bindkey, compctl, compdef, complete, disable, emulate, enable, functions, r, sched, setopt: STATE
  *
unsetopt, vared, zargs, zcompile, zle, zmodload, zparseopts, zpty, zstyle: STATE
  *
compgen: WORD
  -c -A: -a -b -d -e -f -k -u -v -C=doubt -F=doubt -W=doubt
fc: STATE
  -l
float, getln, integer, private, zformat: ARITHMETIC
  *
hash: STATE
  -r -l -d
shopt: WORDS
  -q -s=doubt -u=doubt -o=doubt
let: LET
declare, typeset: DECLARE
  -x -g -r -p
export: DECLARE
  -p -n
readonly: DECLARE
  -p
local: DECLARE
  -x -r
unset: NAMES
  -f -v
read: NAMES
  -r -s -e -a=name -d: -n=number -N=number -p: -t=number -u=number
readarray, mapfile: NAMES
  -t -d: -n: -O: -s: -u: -C=doubt -c:
getopts: WORD NAMES
printf: FORMAT
  -v=name
print: WORDS
  -r -n -l -N -P=doubt -f=doubt -v=doubt -z=doubt -S=doubt -s=doubt
wait: WORDS
  -n -f -p=name
break, continue, exit, logout, return, shift: NUMBERS

# Programs that run the command that follows their options
nice: COMMAND
  -n: --adjustment: -N
nohup, catchsegv, ccache, busybox, toybox: COMMAND
timeout, gtimeout: WORD COMMAND
  -k: -s: -v -f -p --kill-after: --signal: --foreground --preserve-status --verbose
stdbuf: COMMAND
  -i: -o: -e: --input: --output: --error:
env: ASSIGNMENTS COMMAND
  - -i -0 -v -u: -C: --ignore-environment --null --debug --unset: --chdir: -S=doubt --split-string=doubt
chroot: WORD COMMAND
  --userspec: --groups: --skip-chdir
setsid: COMMAND
  -c -f -w --ctty --fork --wait
ionice: COMMAND
  -c: -n: -t -p! --class: --classdata: --ignore
taskset: WORD COMMAND
  -a -c -p!
flock: WORD LOCKED
  -s -x -e -n -u -w: -o -E: -F -v -c=doubt --timeout: --nonblock --close --verbose
sudo: ASSIGNMENTS COMMAND
  -A -b -E -H -K! -k -l! -n -P -S -v! -V! -u: -g: -h: -p: -C: -r: -t: -T: -U: -D: -R: --user: --group:
  --preserve-env? --non-interactive --set-home --list! --validate! --stdin
doas: COMMAND
  -n -u: -C:
pkexec: COMMAND
  --user: --disable-internal-agent
gosu, su-exec, direnv exec: WORD COMMAND
logsave: WORD COMMAND
  -a -s -v
dpkg-architecture: WORDS
  -c=text --command=text *
busctl: WORDS
  --address=doubt *
gunicorn: CALLS
  *
flask: CALLS
  -A=file --app=file *
tini: COMMAND
  -s -g -v -w -p: -e:
dumb-init: COMMAND
  -c -v
watch: LINE
  -b -c -d? -e -g -n: -p -t -w -x=doubt --beep --color --differences? --errexit --chgexit --interval: --no-title
chronic: COMMAND
  -v -e
ifne: COMMAND
  -n
unbuffer: COMMAND
  -p
xvfb-run: COMMAND
  -a --auto-servernum -s: --server-args: -n: --server-num: -e: --error-file:
sshpass: COMMAND
  -e -p: -f: -d: -P: -v
caffeinate: COMMAND
  -d -i -m -s -u -t: -w:
arch: COMMAND
  -x86_64 -arm64 -arm64e -i386
torsocks: COMMAND
  -i -d -q
proxychains, proxychains4: COMMAND
  -q -f:
cross-env: ASSIGNMENTS COMMAND
direnv: SUBCOMMAND
xargs: INPUT
  -0 -r -t -o -x -p -n: -P: -L: -d: -s: -E: -a: -I=replaced -i=doubt -l? -e? --null --no-run-if-empty --verbose
  --max-args: --max-procs: --max-lines? --delimiter: --arg-file: --replace=doubt --exit --max-chars: --open-tty
gxargs: INPUT
  -0 -r -t -n: -P: -L: -d: -I=replaced

# Programs that run a text, on this machine or another
dbclient: WORD OPTIONS LINE
  -A -B: -b: -c: -f -g -I: -i: -J=text -K: -L: -l: -m: -N -o=doubt -p: -R: -s -T -t -W: -y -z
ssh, slogin, rsh: WORD OPTIONS LINE
  -4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -B: -b: -c: -D: -E: -e: -F=doubt -I: -i: -J:
  -L: -l: -m: -O: -o=doubt -p: -Q: -R: -S: -W: -w:
scp: WORDS
  -S=doubt -o=doubt -F=doubt -D=doubt *
at: DOUBT
  -l! -q: -d! -r! -c!
batch: STDIN
  *
crontab: DOUBT
  -l!
run-parts: DOUBT
  --list! --test!
tmux: SUBCOMMAND
  -V! *
screen: DOUBT
  -ls! -list! -v!
nc, netcat: WORDS
  -e=doubt -c=doubt *
ncat: WORDS
  -e=doubt -c=doubt --exec=doubt --sh-exec=doubt --lua-exec=doubt *
fd, fdfind: WORDS
  -x=doubt -X=doubt --exec=doubt --exec-batch=doubt *
rg: WORDS
  --pre=doubt --hostname-bin=doubt *
man: WORDS
  -P=text --pager=text -H=doubt --html=doubt *
less: PLUS
  -k=doubt --lesskey-file=doubt --lesskey-src=doubt --lesskey-content=doubt *
more: PLUS
  *
yt-dlp: WORDS
  --exec=text --exec-before-download=text --downloader=text --external-downloader=text *
youtube-dl: WORDS
  --exec=text --external-downloader=text *
aria2c: WORDS
  --on-bt-download-complete=text --on-download-complete=text --on-download-error=text --on-download-pause=text
  --on-download-start=text --on-download-stop=text *
restic: WORDS
  --password-command=text -o=doubt --option=doubt *
rclone: WORDS
  --password-command=text *
borg: WORDS
  --rsh=text *
svn: WORDS
  --config-option=doubt --editor-cmd=text --diff-cmd=text --diff3-cmd=text --merge-cmd=text *
hg: WORDS
  --config=doubt --ssh=text -e=doubt --remotecmd=text *
cvs: WORDS
  -e=doubt *
jj: SUBCOMMAND
  --config=doubt --config-toml=doubt --config-file=doubt *
jj util, ip netns, ip vrf, brew, aws ssm, aws ecs, az, az vm, mix, gcloud compute, go: SUBCOMMAND
jj util exec: DASHES
jj *: WORDS
  --config=doubt --config-toml=doubt --config-file=doubt *
bat, batcat, delta, ag, ack: WORDS
  --pager=text *
ugrep, ug: WORDS
  --pager=text --filter=doubt *
pandoc: WORDS
  --filter=text -F=text --pdf-engine=text --lua-filter=doubt -L=doubt *
tcpdump: WORDS
  -z=text *
install: WORDS
  --strip-program=text *
cpio: WORDS
  --rsh-command=text *
ssh-copy-id: WORDS
  -o=doubt -F=doubt *
java: WORDS
  -XX:OnError=text -XX:OnOutOfMemoryError=text *
apt, apt-get: WORDS
  -o=doubt --option=doubt -c=doubt --config-file=doubt *
dpkg: WORDS
  --pre-invoke=text --post-invoke=text --status-logger=text *
rpm, rpmbuild: WORDS
  -E=doubt --eval=doubt -D=doubt --define=doubt *
pdflatex, xelatex, lualatex, latex, tex, pdftex: WORDS
  -shell-escape=doubt --shell-escape=doubt -enable-write18=doubt *
rustc: WORDS
  -C=doubt --codegen=doubt *
helm: WORDS
  --post-renderer=text *
jobs: WORDS
  -x=doubt *
mvn: WORDS
  -Dexec.executable=doubt *
ip: SUBCOMMAND
  -n: -b=doubt -batch=doubt *
ip netns exec, ip vrf exec: WORD COMMAND
tox: SUBCOMMAND
  -e: -c: -x=doubt --override=doubt *
tox *: WORDS
  -x=doubt --override=doubt *
aws: SUBCOMMAND
  --profile: --region: --output: *
rake: WORDS
  -e=code *
scala: SCRIPT
  -e=code *
mongosh, mongo: WORDS
  --eval=code *
swift: SUBCOMMAND
  -e=code *
mix run: WORDS
  -e=code --eval=code *
pylint: WORDS
  --init-hook=doubt *
gpg: WORDS
  --agent-program=text --dirmngr-program=text --photo-viewer=text *
pip: WORDS
  --editor=text --python=python *
gcloud: SUBCOMMAND
  --project: *
sort: WORDS
  --compress-program=text *
split: WORDS
  --filter=text *
tar, bsdtar: WORDS
  +
  -I=text -F=text -C: -f: -T: -X: --use-compress-program=text --to-command=text --checkpoint-action=doubt
  --info-script=text --new-volume-script=text --rsh-command=text --rmt-command=text *
zip: WORDS
  -TT=text --unzip-command=text *
rsync: WORDS
  -e=text --rsh=text --rsync-path=text -M=doubt --remote-option=doubt *
wget: WORDS
  --use-askpass=text -e=doubt --execute=doubt *
make, gmake: MAKE
  --eval=doubt -E=doubt -f: -C: -I: -j? -o: -W: *
gcc, g++, cc, c++, c89, c99, cpp, clang, clang++: WORDS
  -wrapper=doubt -fplugin=doubt -specs=doubt --specs=doubt *
go env: WORDS
  -w=doubt *
go *: WORDS
  -exec=text --exec=text -toolexec=text --toolexec=text -vettool=text --vettool=text -fixtool=text *
cargo: SUBCOMMAND
  --config=doubt *
cargo watch: STATE
  *
cargo *: WORDS
  --config=doubt *
mysql, mariadb: SQL
  -e=sql --execute=sql --pager=text --init-command=sql --tee: -u: -p? -h: -P: -D: *
psql: SQL
  -c=sql --command=sql -v: --set: --variable: -d: -h: -U: -p: -f: --file: -o=pipe --output=pipe -L: *
sqlite3: SQL
  -cmd=sql -init: *
duckdb: SQL
  -c=sql -cmd=sql -s=sql -init: *

# Interpreters: with a text in their own language, they may run anything; a script is a program like others
python, pypy: SCRIPT
  -c=code -m=module -W: -X: -V! -h! --version! --help! *
perl: SCRIPT
  -e=code -E=code -v! -V! -I: -i? -M=file -m=file -d=file -F? -0? -l? -x? *
ruby: SCRIPT
  -e=code -r: -I: -C: -E: -v! --version! *
node: SCRIPT
  -e=code -p=code --eval=code --print=code -r: --require: --import=file --loader=file
  --experimental-loader=file --test-reporter=file -C: --conditions: -v! -h! --version! --help! --test! *
deno: SUBCOMMAND
  -V! --version! -h! --help! *
deno task: WORDS
  --eval=doubt *
deno eval, deno repl, bun repl: CODE
  *
bun: SUBCOMMAND
  -e=code --eval=code -p=code --print=code --cwd: -v! --version! *
bun x: COMMAND
  --bun
bun exec: LINE
lua, luajit: SCRIPT
  -e=code -l: -v! *
php: SCRIPT
  -r=code -R=code -B=code -E=code -d: -c: -f: -v! -i! -m! --version! *
Rscript: SCRIPT
  -e=code --version! *
R, ghc: WORDS
  -e=code *
julia: SCRIPT
  -e=code -E=code --eval=code --print=code -v! --version! *
guile: SCRIPT
  -c=code -v! *
groovy: SCRIPT
  -e=code *
elixir: SCRIPT
  -e=code --eval=code --rpc-eval=code -v! --version! *
octave: SCRIPT
  --eval=code --version! *
ts-node: SCRIPT
  -e=code -p=code --eval=code --print=code *

# Programs with subcommands, and options before them
git: SUBCOMMAND
  -C: -c=config -p -P -h! --git-dir: --work-tree: --namespace: --super-prefix: --config-env=doubt --exec-path=doubt
  --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs
  --icase-pathspecs --no-optional-locks --version! --help!
git archive: WORDS
  --exec=text --remote: *
git bisect, git submodule--helper, docker container, npm config, npm c, npm con, npm conf, npm confi: SUBCOMMAND
npm pkg, uv tool, pipenv, conda, bundle, coverage, glab, pnpm config, pnpm c, yarn config: SUBCOMMAND
glab config, mise, op, gh, gh codespace, gh cs, gh config, gh extension: SUBCOMMAND
git merge-index: COMMAND
  -o -q
git bisect visualize, git bisect view: STATE
  *
git bisect run, yarn exec, poetry run, pipenv run, bundle exec, bundle e: COMMAND
git clone: WORDS
  -u=text --upload-pack=text -c=config --config=config --template=doubt -b: -o: *
git config: CONFIG
  --get! --get-all! --get-regexp! --list! -l! --unset! --unset-all! -e=doubt --edit=doubt
  --rename-section=doubt -f: --file: --comment: *
git difftool: WORDS
  -x=text --extcmd=text *
git fetch, git pull: WORDS
  --upload-pack=text *
git fetch-pack, git ls-remote: WORDS
  --upload-pack=text --exec=text *
git grep: WORDS
  -O=text --open-files-in-pager=text -e: -f: *
git help: WORDS
  *
git init: WORDS
  --template=doubt *
git push, git send-pack: WORDS
  --receive-pack=text --exec=text *
git rebase: WORDS
  -x=text --exec=text *
git submodule: SUBCOMMAND
  -q --quiet --cached
git submodule foreach, git submodule--helper foreach: LINE
  -q --quiet --recursive
docker: SUBCOMMAND
  -c: -D -H: -l: -v! --config: --context: --debug --host: --log-level: --tls --tlscacert: --tlscert: --tlskey:
  --tlsverify --version!
docker exec, docker container exec: WORD COMMAND
  -d -i -t -e: -u: -w: --detach --detach-keys: --env: --env-file: --interactive --privileged --tty --user:
  --workdir:
docker run, docker create, docker container run, docker container create: WORD COMMAND
  -d -i -t -P -q -a: -c: -e: -h: -l: -m: -p: -u: -v: -w: --add-host: --cap-add: --cap-drop: --cidfile: --cpus:
  --detach --device: --dns: --entrypoint=doubt --env: --env-file: --expose: --gpus: --hostname: --init --interactive
  --ip: --ipc: --label: --link: --log-driver: --log-opt: --mac-address: --memory: --mount: --name: --net: --network:
  --network-alias: --no-healthcheck --pid: --pids-limit: --platform: --privileged --publish: --publish-all --pull:
  --quiet --read-only --restart: --rm --runtime: --security-opt: --shm-size: --stop-signal: --stop-timeout:
  --sysctl: --tmpfs: --tty --ulimit: --user: --userns: --volume: --volumes-from: --workdir:
docker compose: SUBCOMMAND
  -f: -p: --file: --project-name: --profile: --env-file: --project-directory: --parallel: --progress: --ansi:
  --compatibility --dry-run
docker compose exec: WORD COMMAND
  -d -T -e: -u: -w: --detach --env: --index: --no-TTY --privileged --user: --workdir:
docker compose run: WORD COMMAND
  -d -T -i -P -e: -l: -p: -q -u: -v: -w: --build --detach --entrypoint=doubt --env: --interactive --label: --name:
  --no-TTY --no-deps --publish: --quiet-pull --remove-orphans --rm --service-ports --use-aliases --user: --volume:
  --workdir:
kubectl: SUBCOMMAND
  -n: -s: -v: --as: --as-group: --cache-dir: --certificate-authority: --client-certificate: --client-key: --cluster:
  --context: --insecure-skip-tls-verify --kubeconfig: --namespace: --request-timeout: --server: --token: --user:
kubectl exec, kubectl run, kubectl debug, kubectl create, op run: DASHES
  *
npm explore, npm explo, npm explor: DASHES
  -LONG --shell=text
npm: SUBCOMMAND
  -LONG -s -q -d -g -C: -w: --prefix: --workspace: --workspaces --silent --quiet --loglevel: --no-color --global
  --registry: --if-present --version! -v!
npm exec, npm exe, npm x: COMMAND
  -LONG -c=text --call=text -p: --package: -y --yes --no -w: --workspace: --script-shell=doubt
npm config set, npm c set, npm con set, npm conf set, npm confi set, npm set, npm pkg set, npm set-script: STATE
  *
pnpm config set, pnpm c set, pnpm set, yarn config set: STATE
  *
npm *, npm config *, npm c *, npm con *, npm conf *, npm confi *, npm pkg *: WORDS
  -LONG --script-shell=text --editor=text --viewer=text --browser=text --git=text --node-options=doubt *
npx, pnpx: COMMAND
  -LONG -c=text --call=text -p: --package: -y --yes --no --no-install -q --quiet -w: --workspace: --prefix:
  --script-shell=doubt
pnpm: SUBCOMMAND
  -C: -r -w -s --dir: --filter: -F: --silent --recursive --workspace-root
pnpm recursive, pnpm multi, pnpm m: SUBCOMMAND
  -r -w -s --silent
pnpm *: WORDS
  --config.script-shell=text --config.scriptShell=text *
pnpm exec, pnpm recursive exec, pnpm multi exec, pnpm m exec: COMMAND
  -c=doubt --shell-mode=doubt -r --recursive --parallel --workspace-concurrency:
pnpm dlx: COMMAND
  -c=doubt --shell-mode=doubt --package: --silent
yarn: SUBCOMMAND
  --cwd: -s --silent
yarn dlx: COMMAND
  -p: -q --package: --quiet
bunx: COMMAND
  --bun
uv: SUBCOMMAND
  -q -v -n --quiet --verbose --no-cache --offline --directory: --project: --config-file:
uv *, virtualenv: WORDS
  -p=python --python=python *
mypy: WORDS
  --python-executable=python *
uv run: COMMAND
  -q -v -n -p=python --python=python --with: --with-requirements: --with-editable: --extra: --all-extras --group:
  --no-group: --only-group: --dev --no-dev --frozen --locked --isolated --no-sync --no-project --active --exact
  --env-file: --directory: --project: --package: --quiet --offline --all-groups --no-cache -m!
uv tool run, uvx: COMMAND
  --from: --with: -p=python --python=python --isolated -q --quiet
poetry: SUBCOMMAND
  -C: -P: -q -n --directory: --project: --quiet --no-interaction --no-ansi
pdm: SUBCOMMAND
  -q -v
hatch, hatch env: SUBCOMMAND
  -e: --env: -q -v
composer, pipx: SUBCOMMAND
  *
composer exec: COMMAND
  -l --list
pipx run: COMMAND
  --spec: --python: --verbose -q --no-cache --path
yarn workspaces, yarn workspace, yarn node, pnpm node, glab alias: CODE
mise exec, mise x: DASHES
  -c=text --command=text *
tmux ls, tmux list-sessions, tmux list-panes, tmux capture-pane, tmux kill-session, tmux has-session: PLAIN
  *
""")
"""Each program, or program and subcommand, with its options and what stands behind them."""

PROGRAMS |= {
    name.replace("docker", other): row
    for name, row in PROGRAMS.items()
    if name.startswith("docker")
    for other in ("podman", "nerdctl")
}
PROGRAMS |= {
    name.replace("docker compose", "docker-compose"): row
    for name, row in PROGRAMS.items()
    if name.startswith("docker compose")
}
PROGRAMS = {
    **dict.fromkeys(DOUBTFUL, ("*", "DOUBT")),
    **PROGRAMS,
}

READ_APART = frozenset([
    "bash", "rbash", "zsh", "sh", "dash", "ash", "fish", "csh", "tcsh", "ksh", "mksh", "ksh93", "oksh", "pwsh", "nu",
    "elvish", "xonsh", "set", "find", "[", "test", "sed", "awk", "mawk", "nawk",
    "bfs", "cmake", "goawk", "original-awk", "service",
])  # fmt: skip
"""Programs whose words are read by code of their own."""


def known_name(name: str) -> str:
    """Return the name that the table has of a program: ``python3.11``, ``gsort``, ``nodejs`` are others'."""
    unnumbered = name.rstrip("0123456789.").rstrip("-")
    for other in (name, unnumbered, name.partition(".")[0], name.removeprefix("g"), name.removesuffix("js")):
        if other in READ_APART or other in PROGRAMS:
            return other
    return name
