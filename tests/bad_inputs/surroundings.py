"""A good model, and a system that fails around it."""

from tests.bad_inputs.bad_input import BadInput

# All that a command finds, without git.
_ONLY_SETPRIV = 'mkdir -p .git/bin; ln -s "$(command -v setpriv)" .git/bin'

SURROUNDINGS = [
    BadInput("output that nobody reads", "scanify check | true; exit ${PIPESTATUS[0]}", (0, 1, 141), ""),
    BadInput(
        "output of which one line is read",
        "scanify rules --format json | head -n 1; exit ${PIPESTATUS[0]}",
        (0, 1, 141),
        "\\[",
    ),
    BadInput(
        "a diff of which one line is read",
        "scanify rewrite model.py --diff | head -n 1; exit ${PIPESTATUS[0]}",
        (0, 1, 141),
        "---",
    ),
    BadInput("output that is closed", "scanify check >&-", (0, 1, 2), ""),
    BadInput("output and errors that are closed", "scanify rewrite --diff model.py >&- 2>&-", (0, 1, 2), ""),
    BadInput("a full disk behind the output", "scanify check > /dev/full", (1, 2), "(?i)space"),
    BadInput(
        "a full disk behind the output, rewriting",
        "scanify rewrite model.py > /dev/full",
        0,
        "1 loop rewritten",
        changes=("model.py",),
    ),
    BadInput(
        "a full disk behind the file",
        "ulimit -f 1; scanify rewrite model.py",
        (1, 2),
        "(?i)large|space|writ",
        before="python3 - <<'X'\nopen('model.py', 'a').write('# ' + 'a' * 4000 + '\\n')\nX",
    ),
    BadInput(
        "a full disk behind an output file",
        "ulimit -f 0; scanify case model.py > cases.py",
        (0, 1, 2),
        "",
        changes=("cases.py",),
    ),
    BadInput(
        "a cache folder that cannot be written",
        "SCANIFY_CACHE_DIR=$PWD/kept scanify check",
        1,
        "1 loop",
        before="mkdir kept; chmod 555 kept",
    ),
    BadInput("a cache folder that is a file", "SCANIFY_CACHE_DIR=$PWD/model.py scanify check", 1, "1 loop"),
    BadInput(
        "a cache that holds rubbish",
        "scanify check; for f in $(find .scanify_cache -type f); do echo x > $f; done; scanify check",
        1,
        "1 loop",
    ),
    BadInput(
        "a folder that has been deleted", "mkdir gone; cd gone; rmdir ../gone; scanify check", 2, "(?i)folder|directory"
    ),
    BadInput(
        "a folder that has been deleted, to rewrite",
        "mkdir gone; cd gone; rmdir ../gone; scanify rewrite model.py",
        2,
        "(?i)folder|directory|exist",
    ),
    BadInput(
        "the locale C",
        "LC_ALL=C LANG=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 scanify check",
        1,
        "1 loop",
        before="sed -i '1i # \u2192 \u00e9' model.py; mv model.py m\u00f6del.py",
    ),
    BadInput(
        "the locale C, as Markdown",
        "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 scanify rewrite --diff .",
        (0, 1),
        "ArrayStacked",
        before="sed -i '1i # \u2192 \u00e9' model.py",
    ),
    BadInput(
        "an output of latin-1",
        "PYTHONIOENCODING=latin-1 scanify check",
        1,
        "1 loop",
        before="sed -i 's/for layer in self.layers:/for layer in self.layers:  # \u2192/' model.py",
    ),
    BadInput("a locale that there is none of", "LC_ALL=xx_YY.UTF-8 scanify check", 1, "1 loop"),
    BadInput("no HOME", "env -u HOME bash -c 'scanify check'", 1, "1 loop"),
    BadInput("a HOME that is not there", "HOME=/nowhere scanify check", 1, "1 loop"),
    BadInput("a terminal of one column", "COLUMNS=1 scanify check", 1, "SCN101"),
    BadInput("a terminal of no sense", "COLUMNS=wide TERM=klingon scanify check", 1, "SCN101"),
    BadInput(
        "no temporary folder", "TMPDIR=/nowhere scanify rewrite model.py", 0, "1 loop rewritten", changes=("model.py",)
    ),
    BadInput(
        "Ctrl-C",
        "scanify check & sleep 0.15; kill -INT $!; wait $!; code=$?; echo ended; exit $code",
        (1, 130),
        "ended",
    ),
    BadInput("little memory", "ulimit -v 60000; scanify check", (1, 2, 4, 127, 134, 139), ""),
    BadInput("few open files", "ulimit -n 16; scanify check", (1, 2), "loop|files"),
    BadInput("a git folder that is none", "scanify check", 1, "1 loop", before="rmdir .git; echo nonsense > .git"),
    BadInput(
        "a .gitignore that is no text", "scanify check", 1, "1 loop", before="head -c 300 /dev/urandom > .gitignore"
    ),
    BadInput("a .gitignore that is a folder", "scanify check", 1, "1 loop", before="mkdir .gitignore"),
    BadInput(
        "a .gitignore that is a FIFO", "timeout 20 bash -c 'scanify check'", 1, "1 loop", before="mkfifo .gitignore"
    ),
    BadInput(
        "a pyproject.toml that is a FIFO",
        "timeout 20 bash -c 'scanify check'",
        (1, 2),
        "pyproject|1 loop",
        before="mkfifo pyproject.toml",
    ),
    BadInput(
        "a pyproject.toml that links to itself",
        "scanify check",
        (1, 2),
        "pyproject|1 loop",
        before="ln -s pyproject.toml pyproject.toml",
    ),
    BadInput("Python without assertions and docstrings", "PYTHONOPTIMIZE=2 scanify check", 1, "1 loop"),
    BadInput(
        "Python without assertions, rewriting",
        "PYTHONOPTIMIZE=2 scanify rewrite model.py",
        0,
        "1 loop rewritten",
        changes=("model.py",),
    ),
    BadInput("every warning an error", "PYTHONWARNINGS=error PYTHONDEVMODE=1 scanify check", 1, "1 loop"),
    BadInput("a rule's page without docstrings", "PYTHONOPTIMIZE=2 scanify explain SCN101", 0, "SCN101"),
    BadInput("no git", "PATH=$PWD/.git/bin scanify check", 1, "1 loop", before=_ONLY_SETPRIV),
    BadInput(
        "no git, to compare with",
        "PATH=$PWD/.git/bin scanify verify model.py --case model.py:Model --against HEAD",
        2,
        "git",
        before=_ONLY_SETPRIV,
    ),
    BadInput("a HOME that is a file", "HOME=$PWD/model.py scanify check", 1, "1 loop"),
    BadInput(
        "completion for a HOME that is a file",
        "HOME=$PWD/model.py scanify completion fish --install",
        (1, 2),
        "(?i)written|director",
    ),
    BadInput(
        "completion without a HOME",
        "env -u HOME -u XDG_CONFIG_HOME bash -c 'scanify completion zsh >&-'",
        (0, 1, 2),
        "",
    ),
    BadInput("completion of a shell that there is none of", "scanify completion klingon", 2, "bash"),
    BadInput("a report onto a full disk", "scanify check --output /dev/full", (1, 2), "/dev/full"),
    BadInput("a report in a folder's place", "mkdir d; scanify check --output d; c=$?; rmdir d; exit $c", 2, "d"),
    BadInput(
        "a hang-up",
        "scanify check & sleep 0.15; kill -HUP $!; wait $!; code=$?; echo ended; exit $code",
        (1, 129),
        "ended",
    ),
    BadInput(
        "an end in the middle",
        "scanify rewrite model.py & sleep 0.3; kill -TERM $!; wait $!; code=$?; echo ended; exit $code",
        (0, 143),
        "ended",
        changes=("model.py",),
    ),
    BadInput(
        "a server that is told nonsense",
        "echo 'Content-Length: many' | timeout 20 bash -c 'scanify server'",
        (0, 1, 2),
        "",
    ),
    BadInput("a server that is told nothing", "timeout 20 bash -c 'scanify server' < /dev/null", (0, 1, 2), ""),
    BadInput(
        "a way back that is rubbish",
        "scanify rewrite model.py; for f in $(find .scanify_cache/rewrites -type f); do echo '[1, {}]' > $f; done; "
        "scanify unroll model.py",
        (0, 1),
        "1 loop rewritten(?s:.*)model.py",
        changes=("model.py",),
    ),
    BadInput("a check of a folder of the system", "timeout 60 bash -c 'scanify check /proc/self/fd'", (0, 1, 2), ""),
]
