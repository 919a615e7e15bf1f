"""Attention: each token mixes in information from other tokens.

To add one: a subclass of `base.Attention` with `mix`, in a new file here; a line under `glasshouse.attention` in
pyproject.toml, and `make install` again, since names are read from the metadata of the package; its name in
`parts/__init__.py`; `make pages`. `additive.py` is the shortest example. tests/parts/test_battery.py tests everything that
the class does not disclaim.
"""
