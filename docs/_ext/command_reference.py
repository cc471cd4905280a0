"""The directive ``command-reference``: every command with its options, as the commands themselves tell."""

import click
from generated_text import GeneratedText, plain

from pairsift.cli import pairsift


def every_command(command=pairsift, path=("pairsift",)):
    """Yield (context, path) of the command, and of all below it in the order in which help lists them."""
    with click.Context(command, info_name=path[-1]) as context:
        yield context, path
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                yield from every_command(command.get_command(context, name), (*path, name))


class CommandReference(GeneratedText):
    """One section a command: usage, what it does, its options."""

    def lines(self):
        """Yield the sections."""
        for context, path in every_command():
            yield from _section(context, path)


def _section(context, path):
    name, command = " ".join(path), context.command
    yield from (f".. _command-{'-'.join(path)}:", "", name, "-" * len(name), "")
    usage = command.collect_usage_pieces(context)
    yield from (".. code-block:: text", "", f"   {' '.join([name, *usage])}", "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (plain(" ".join(paragraph.split())), "")
    yield from (f".. program:: {name}", "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in record[0]:
            yield from _option(*record)


def _option(names, text):
    names = names.replace("\n", " ").replace(" / ", ", ")
    yield from (f".. option:: {names}", "", f"   {plain(' '.join(text.split()))}", "")


def setup(app):
    """Add the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
