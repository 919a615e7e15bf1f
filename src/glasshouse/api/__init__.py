"""The public interface: everything the commands do, as plain functions. `import glasshouse` offers them all.

The command line calls these functions and prints what they return; nothing else lives between the two.
"""
