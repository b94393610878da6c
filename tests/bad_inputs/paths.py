"""Files and folders that are not there, cannot be read, or are not what their names say."""

from tests.bad_inputs.bad_input import BadInput
from tests.command import CALLER, MODEL

PATHS = [
    BadInput("a file that is not there", "scanify check missing.py", 2, "missing.py"),
    BadInput("a folder that is not there", "scanify check src/", 2, "src"),
    BadInput("a file that is not there, to rewrite", "scanify rewrite missing.py", 2, "missing.py"),
    BadInput("a file that is not there, to verify", "scanify verify missing.py --case cases.py:f", 2, "missing.py"),
    BadInput("an empty name", "scanify check ''", 2, "empty name"),
    BadInput("a name with a NUL escape", r"scanify check $'a\x01b.py'", 2, "that exist"),
    BadInput(
        "a name longer than file systems take", "scanify check $(printf 'a%.0s' {1..300}).py", 2, "(?i)name|exist"
    ),
    BadInput(
        "a folder named x.py",
        "scanify check",
        0,
        "No loop|no Python files|1 file",
        before="mkdir x.py; rm model.py; touch x.py/y.py",
    ),
    BadInput("a folder named x.py, by name", "scanify rewrite x.py", (0, 2), "No|no", before="mkdir x.py"),
    BadInput("a file that is no Python", "scanify check notes.txt", 1, "notes.txt", {"notes.txt": "hello there\n"}),
    BadInput(
        "a folder without permission",
        "scanify check",
        (0, 1),
        "locked|1 loop",
        before="mkdir locked; cp model.py locked; chmod 000 locked",
    ),
    BadInput(
        "a folder without permission, by name",
        "scanify check locked",
        (1, 2),
        "locked",
        before="mkdir locked; cp model.py locked; chmod 000 locked",
    ),
    BadInput(
        "a file without permission",
        "scanify check model.py",
        1,
        "model.py.*(?i:permission)",
        before="chmod 000 model.py",
    ),
    BadInput(
        "a file without permission, to rewrite",
        "scanify rewrite model.py",
        1,
        "(?i)permission",
        before="chmod 000 model.py",
    ),
    BadInput(
        "a file that cannot be written",
        "scanify rewrite model.py",
        (0, 1, 2),
        "read-only",
        before="chmod 444 model.py",
        changes=("model.py",),
    ),
    BadInput(
        "a folder that cannot be written",
        "scanify rewrite model.py",
        (1, 2),
        "(?i)permission|writ",
        before="chmod 555 .",
    ),
    BadInput(
        "of two files, the folder of the second cannot be written",
        "scanify rewrite .",
        (1, 2),
        "(?i)permission|writ",
        {"model.py": CALLER.replace("model", "sub.model"), "sub/model.py": MODEL, "sub/__init__.py": ""},
        before="chmod 555 sub",
    ),
    BadInput("a FIFO", "timeout 20 bash -c 'scanify check'", (0, 1), "1 loop", before="mkfifo pipe.py"),
    BadInput(
        "a FIFO, by name", "timeout 20 bash -c 'scanify check pipe.py'", (1, 2), "pipe.py", before="mkfifo pipe.py"
    ),
    BadInput("a device", "timeout 20 bash -c 'scanify check /dev/zero'", 2, "/dev/zero"),
    BadInput("a link to itself", "scanify check", 1, "1 loop", before="ln -s loop.py loop.py"),
    BadInput("a link to itself, by name", "scanify check loop.py", (1, 2), "loop.py", before="ln -s loop.py loop.py"),
    BadInput(
        "a folder that links to its parent",
        "timeout 60 bash -c 'scanify check'",
        1,
        "1 loop",
        before="mkdir a; ln -s .. a/up",
    ),
    BadInput("a link that leads nowhere", "scanify check", 1, "1 loop", before="ln -s gone.py dead.py"),
    BadInput(
        "a link that leads nowhere, by name",
        "scanify rewrite dead.py",
        (1, 2),
        "dead.py",
        before="ln -s gone.py dead.py",
    ),
    BadInput(
        "the same file three times",
        "scanify rewrite model.py ./model.py model.py",
        0,
        "1 loop rewritten",
        changes=("model.py",),
    ),
    BadInput(
        "a name that is no UTF-8",
        r"scanify check",
        1,
        "1 loop",
        before=r"cp model.py $'caf\xe9.txt'; mv model.py $'caf\xe9.py'",
    ),
    BadInput(
        "a name that is no UTF-8, as JSON",
        r"scanify check --format json",
        1,
        "SCN101",
        before=r"mv model.py $'caf\xe9.py'",
    ),
    BadInput(
        "a name with a line break", "scanify check --format github", 1, "SCN101", before="mv model.py $'a\\nb.py'"
    ),
    BadInput(
        "a name that begins with a dash", "scanify check -- -model.py", 1, "SCN101", before="mv model.py -- -model.py"
    ),
    BadInput("an empty folder", "scanify check", 0, "(?i)no ", {}),
    BadInput("an empty folder, to rewrite", "scanify rewrite .", 0, "(?i)no ", {}),
]
