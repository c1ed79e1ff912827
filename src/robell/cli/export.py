"""The command ``robell export``."""

from __future__ import annotations

from pathlib import Path

from robell.cli.options import OK, Command, add_options


def add_arguments(command):
    """Add the command's options."""
    command.add_argument("model", type=Path, metavar="MODEL", help="a file robell fit has written")
    command.add_argument(
        "--onnx", required=True, type=Path, metavar="FILE", help="the graph to write, model.onnx"
    )
    add_options(command, "force", "quiet")


def run(options, arguments):
    """Convert the model, and write the graph."""
    from robell._tools.files import check_output, written_whole
    from robell._tools.text import counted
    from robell.persist.model_files import load_model
    from robell.persist.onnx.convert import is_graph_file, to_onnx

    check_output(options.onnx, [options.model], None if options.force else is_graph_file)
    graph = to_onnx(load_model(options.model))
    with written_whole(options.onnx) as temporary:
        temporary.write_bytes(graph.SerializeToString())
    if not options.quiet:
        inputs, nodes = len(graph.graph.input), len(graph.graph.node)
        print(f"{counted(inputs, 'input')}, {counted(nodes, 'node')}, double precision")
    print(options.onnx)
    return OK


COMMAND = Command(
    "write a model as an ONNX graph, which runs without Python",
    """\
Write a model as an ONNX graph, which runs without Python.

The graph computes in double precision. Its inputs are rows of numbers, or one column each where
the model reads raw tables: numbers (NaN where missing), dates as days since 1970, and texts as
they stand in a file. Its outputs are label and probabilities. A part of the model that has no ONNX
form, such as a column of words, is named, and nothing is written.
""",
    "examples:\n  robell export model.skops --onnx model.onnx\n",
    add_arguments,
    run,
)
