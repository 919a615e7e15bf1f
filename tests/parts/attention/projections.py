"""The projections of an attention, for tests that compute its formula in another way."""


def project(attention, x):
    """Queries, keys and values (B, H, T, E) of a sequence."""
    return [attention._split_heads(projected) for projected in attention.projection(x).split(attention.projection_sizes, -1)]


def output(attention, mixed):
    """The output projection of mixed values (B, H, T, E)."""
    return attention.output(mixed.transpose(1, 2).flatten(2))
