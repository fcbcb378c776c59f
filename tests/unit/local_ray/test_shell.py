"""When the shell of an entrypoint gives way to the program."""

import subprocess

import pytest
from fairgate_scheduler.adapters.local_ray.shell import shell_line


@pytest.mark.parametrize(
    ("entrypoint", "line"),
    [
        ("python train.py 60 0.4", "exec python train.py 60 0.4"),
        (" python train.py\n", "exec python train.py"),
        ("/opt/bin/serve", "exec /opt/bin/serve"),
        ("A=1 B=x/y python train.py", "A=1 B=x/y exec python train.py"),
        ('python -c "a; b & (c)"', 'exec python -c "a; b & (c)"'),
        ("python x.py $HOME", "exec python x.py $HOME"),
    ],
)
def test_a_simple_command_takes_the_place_of_its_shell(entrypoint, line):
    assert shell_line(entrypoint) == line


@pytest.mark.parametrize(
    "entrypoint",
    [
        "cd code && python train.py",
        "python a.py; python b.py",
        "python a.py | tee log",
        "python a.py > log",
        "python a.py &",
        "python a.py\npython b.py",
        "(python a.py)",
        "A=$(date) python a.py",
        'A="x y" python a.py',
        "python a.py `date`",
        "python 'a.py",
        "exit 3",
        "exec python a.py",
        "for x in 1 2; do python $x; done",
        "",
    ],
)
def test_anything_else_is_left_to_the_shell(entrypoint):
    assert shell_line(entrypoint) == entrypoint


def test_both_mean_the_same():
    line = "A=7 printenv A"
    for each in (line, shell_line(line)):
        assert subprocess.run(["/bin/sh", "-c", each], capture_output=True, check=True).stdout == b"7\n"
