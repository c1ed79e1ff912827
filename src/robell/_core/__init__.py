"""The mathematics of the RVFL family: arrays in, arrays out, no scikit-learn.

Symbols are the paper's with its clashes removed: ``X`` inputs (A, B), ``U`` and ``b`` the random
layer, ``H`` hidden outputs (A, D), ``M = [1 X H]`` the design matrix, ``T`` one-hot targets (A, K),
``w`` row weights, ``beta`` output weights.
"""
