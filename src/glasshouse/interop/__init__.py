"""Import models from Hugging Face, GGUF and llama2.c files as runs; export runs as Hugging Face directories, GGUF
files and ONNX graphs.

In this package "ours" is Glasshouse (its spec fields and tensor names), and "theirs" is the other format.
"""
