"""The command ``robell export``."""

from __future__ import annotations

from robell.cli.options import OK, say


def run(options, typed):
    """Convert the model, and write the graph."""
    from robell._tools.files import check_output, written_whole
    from robell._tools.text import counted, said
    from robell.persist.model_files import load_model, model_info
    from robell.persist.onnx.convert import is_graph_file, to_onnx

    check_output(options.onnx, [options.model], None if options.force else is_graph_file)
    target = model_info(options.model).get("about", {}).get("target")
    graph = to_onnx(load_model(options.model), without=options.without, target=target)
    with written_whole(options.onnx) as temporary:
        temporary.write_bytes(graph.SerializeToString())
    if not options.quiet:
        if options.without:
            names = ", ".join(said(name, 30) for name in options.without)
            say(f"held at their usual values, so that predictions differ from the model's: {names}")
        inputs, nodes = len(graph.graph.input), len(graph.graph.node)
        print(f"{counted(inputs, 'input')}, {counted(nodes, 'node')}, double precision")
    print(options.onnx)
    return OK
