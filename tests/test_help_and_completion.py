"""Help and completion of every registered command: fast, and without the heavy libraries."""

import os
import statistics
import subprocess
import sys

import click
import pytest

from pairsift.cli import pairsift
from pairsift.sampling.registry import SAMPLERS
from test_cli import COMMAND

HEAVY = {"sklearn", "scipy", "pyarrow", "matplotlib", "pandas", "polars"}


def every_command(command=pairsift, path=()):
    yield list(path)
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                yield from every_command(command.get_command(context, name), (*path, name))


COMMANDS = list(every_command())


def test_all_commands_are_seen():
    assert ["evaluate"] in COMMANDS
    assert ["datasets", "list"] in COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_shown_without_heavy_imports(command):
    code = (
        "import sys; from pairsift.cli import pairsift\n"
        f"pairsift.main({[*command, '--help']!r}, prog_name='pairsift', standalone_mode=False)\n"
        f"assert not {HEAVY!r} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: {' '.join(['pairsift', *command])}")


def without_rebuild():
    """Return the environment in which an editable installation does not look whether the C++ has changed."""
    paths = [str(finder.path) for finder in sys.meta_path if hasattr(finder, "rebuild_flag") and finder.path]
    return {**os.environ, "SKBUILD_EDITABLE_SKIP": os.pathsep.join(paths)}


def processor_seconds(arguments, environment):
    """Return the processor time of a process, which other processes of the machine do not lengthen."""
    command = [sys.executable, "-c", COMMAND[-1], *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_takes_less_than_a_third_of_a_second(command):
    environment = without_rebuild()
    processor_seconds([*command, "--help"], environment)
    times = [processor_seconds([*command, "--help"], environment) for _ in range(10)]
    assert statistics.median(times) < 0.35, times


def completions(line, shell="bash", **more):
    words = line.split(" ")
    environment = {
        **without_rebuild(),
        "_PAIRSIFT_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMAND[-1]], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_commands_are_completed():
    found = [line.removeprefix("plain,") for line in completions("pairsift ")]
    assert found == [command[0] for command in COMMANDS if len(command) == 1]
    assert completions("pairsift eva") == ["plain,evaluate"]
    assert "plain,--version" in completions("pairsift --")


def test_samplers_options_and_files_are_completed():
    assert completions("pairsift fit --sampling ") == [f"plain,{name}" for name in SAMPLERS]
    assert completions("pairsift fit --sampling soft-c") == ["plain,soft-close", "plain,soft-correct"]
    assert "plain,--max-fpr" in completions("pairsift evaluate --m")
    assert completions("pairsift evaluate mo")[0].startswith("file,")
    assert completions("pairsift fit -o mo")[0].startswith("file,")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_summaries_too(shell):
    found = completions("pairsift comp", shell, COMP_CWORD="comp" if shell == "fish" else "1")
    assert any("compare" in line for line in found)
    assert any("better than another" in line for line in found)


def test_bash_takes_the_script():
    script = f'eval "$(_PAIRSIFT_COMPLETE=bash_source {sys.executable} -c "{COMMAND[-1]}")" && complete -p pairsift'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=without_rebuild(), check=False)
    assert done.returncode == 0, done.stderr
    assert "_pairsift_completion" in done.stdout


def test_completion_is_fast_and_light():
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(sorted(({HEAVY!r} | {{'numpy'}}) & set(sys.modules)), file=sys.stderr))\n"
        "from pairsift.cli import main; main()"
    )
    environment = {
        **without_rebuild(),
        "_PAIRSIFT_COMPLETE": "bash_complete",
        "COMP_WORDS": "pairsift fit --sampling s",
        "COMP_CWORD": "3",
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "plain,soft-close" in done.stdout
    assert done.stderr.strip() == "[]"
