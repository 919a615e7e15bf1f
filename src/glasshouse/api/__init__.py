"""The public interface: a plain function for everything that a command does. `import glasshouse` offers them all.

The command line calls these functions and prints their results.
"""
