"""Deep networks in a search: a ridge for each layer, and means over the first of them."""

from __future__ import annotations

import numpy as np

from robell._core.layers.features import RowBlocks


def layer_design(model, design, layer):
    """Return the columns [1 x h_l] of one layer of a design of all layers."""
    width = model._n_shared() + int(model.n_hidden)
    return RowBlocks(
        lambda rows: model._of_layer(design._make_rows(rows), layer), design.n_rows, width
    )


def mean_of_layers(found, depths, n_shared):
    """Return β on the columns of all layers, (P, C, depths, K), given each layer's (P_l, C, K).

    That of a depth is the mean over its layers, and zero for the nodes of deeper ones.
    """
    width = len(found[0]) - n_shared
    n_columns = n_shared + len(found) * width
    beta = np.zeros((n_columns, found[0].shape[1], len(depths), found[0].shape[2]))
    for j, depth in enumerate(depths):
        beta[:n_shared, :, j] = sum(one[:n_shared] for one in found[:depth]) / depth
        for layer in range(depth):
            start = n_shared + layer * width
            beta[start : start + width, :, j] = found[layer][n_shared:] / depth
    return beta
