"""The command line: one file a command, loaded when it is called, so that ``--help`` stays fast.

Exit status: 0 done, 1 a fault in the data or the run, 2 wrong usage. A fault is one line on standard error.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from pairsift import __version__
from pairsift.cli.interrupt import take_interrupts

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SUMMARIES = {
    "demo": "Show what pairsift does, on built-in data.",
    "split": "Split a file of labelled rows: one part to train, one to test on.",
    "fit": "Learn a model from a file of labelled rows.",
    "score": "Score the rows of a file with a model.",
    "evaluate": "Say how good a model's ranking of labelled rows is.",
    "compare": "Say whether one ranking is better than another, on the same rows.",
    "inspect": "Show what is in a model, and which rows contradict it.",
    "export": "Write a model as ONNX, JSON, SQL or Python.",
    "convert": "Convert a file of labelled rows to a row store.",
    "datasets": "List, fetch and verify the paper's data sets.",
    "reproduce": "Run the paper's experiments, and go on where a run stopped.",
    "report": "Make a page of what pairsift reproduce measured, beside the paper's values.",
    "bench": "Measure methods beside peers: training time, memory and AUC.",
    "doctor": "Say what is installed, whether the kernels work, and which data are here.",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SUMMARIES:
            return None
        command = getattr(import_module(f"pairsift.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the summaries: click's own way would import every command for its help."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=text) for name, text in _SUMMARIES.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUMMARIES.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pairsift")
def pairsift() -> None:
    """Linear bipartite ranking (AUC) from data of any size, by training on the few pairs that matter."""


def main() -> None:
    """Run the command line; faults in data and files end in one line."""
    take_interrupts()
    try:
        status = pairsift.main(prog_name="pairsift", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "pairsift"
        words = _one_line(error.format_message())
        stop = "" if words.endswith((".", "?", "!")) else "."  # click's own lists of choices have none
        click.echo(f"{command}: {words}{stop} See {command} --help.", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"pairsift: {_one_line(error.format_message())}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("pairsift: interrupted", err=True)
        sys.exit(1)
    except (ValueError, OSError, MemoryError) as error:
        click.echo(f"pairsift: {_one_line(_reason(error))}", err=True)
        sys.exit(1)
    sys.exit(status or 0)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {_needed(str(error))}. A row store (pairsift convert) is read in small parts."
    return str(error) or type(error).__name__


def _needed(text: str) -> str:
    """Return how much memory was asked for, or, where nobody said it, how much is in use."""
    if any(character.isdecimal() for character in text):
        return text.rstrip(".")
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"more is needed than the {used / 1e6:,.0f} MB that were in use"


def _one_line(text: str) -> str:
    return " ".join(text.split())
