"""Generation throughput beside peers in one run: our engine, `transformers`' `generate` with GPT-2's architecture, and on a
CPU llama.cpp with a GGUF export of our weights, where `xllamacpp` and `gguf` are installed.

    python benchmarks/generation.py            # GPT-2 small (124 M): batches 1, 64 and 256 on a GPU, 1 and 16 on a CPU
    python benchmarks/generation.py --smoke    # does it run? A few seconds, and no figure worth keeping

Every row continues a prompt of 32 tokens by 64 (`--prompt`, `--tokens`) at temperature 0.8 with the 50 most likely tokens,
in bfloat16 on a GPU and in float32 on a CPU. Weights are random, and no text ends early. Times are medians of interleaved
rounds, so that a busy moment of the machine hits both. The first token is timed apart: it waits for the prompt. tokens/s
counts all times, the prompt's too. Our engine is kept between the rounds, as the server keeps it. The first round is shown
apart: on a GPU it compiles and records steps. llama.cpp runs as a server in a process of its own, with as many slots as the
largest batch has rows. Its weights are in float32 too, its keys and values in 16 bits. On a CPU our engine is also shown
with weights of 8 bits.
"""

import argparse
import copy
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from glasshouse import models
from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.sampling_options import Sampling
from glasshouse.interop import gguf_models
from glasshouse.interop.imported_model import ImportedModel, save_as_run
from glasshouse.llms import llama_cpp_server
from glasshouse.models import weight_formats
from glasshouse.runs.run import Run
from glasshouse.specs.spec import ModelSpec
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.training import devices

VOCABULARY, WIDTH, LAYERS, HEADS = 50257, 768, 12, 12
SAMPLING = Sampling(temperature=0.8, top_k=50)


def spec_of(sizes: tuple[int, int, int, int]) -> ModelSpec:
    """GPT-2's architecture in these sizes: vocabulary, width, layers and heads."""
    _, width, layers, heads = sizes
    return ModelSpec(width=width, layers=layers, heads=heads, position="learned", norm="layer", activation="gelu", bias=True)


def ours(model: Any, context: int) -> Callable[..., None]:
    """A function that generates `tokens` for each prompt with our engine."""
    engine = GenerationEngine(model, context)

    def generate(prompts: torch.Tensor, tokens: int) -> None:
        rows = engine.add_all(prompts.tolist(), SAMPLING)
        for _ in range(tokens):
            engine.step()
        for row in rows:
            engine.remove(row)

    return generate


def theirs(sizes: tuple[int, int, int, int], context: int, device: torch.device, dtype: torch.dtype) -> Callable[..., None]:
    """The same with `transformers`."""
    import transformers

    vocabulary, width, layers, heads = sizes
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=context,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        bos_token_id=0,
        eos_token_id=0,
    )
    model: Any = transformers.GPT2LMHeadModel(config)
    model = model.to(device, dtype).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0

    def generate(prompts: torch.Tensor, tokens: int) -> None:
        model.generate(
            prompts.to(device),
            attention_mask=torch.ones_like(prompts, device=device),
            max_new_tokens=tokens,
            do_sample=True,
            temperature=SAMPLING.temperature,
            top_k=SAMPLING.top_k,
        )

    return generate


def llama_cpp(
    model: Any, spec: ModelSpec, vocabulary: int, context: int, most_rows: int, folder: Path
) -> Callable[..., None]:
    """The same with llama.cpp, on our weights in float32. Its tokenizer is not used: prompts are token ids."""
    tokenizer = BytePair.train(["a text for a tokenizer that is not used"], 260)
    tokenizer.save(folder / "tokenizer.json")
    contents = json.loads((folder / "tokenizer.json").read_text())
    imported = ImportedModel(spec, context, vocabulary, model.state_dict(), contents, "benchmark")
    file = folder / "model.gguf"
    gguf_models.export(Run(save_as_run(imported, "run", folder / "run"), "cpu"), file)
    server = llama_cpp_server.start_server(file, context * most_rows, "cpu", most_rows)

    def generate(prompts: torch.Tensor, tokens: int) -> None:
        bodies = [
            {
                "prompt": prompt,
                "n_predict": tokens,
                "ignore_eos": True,
                "temperature": SAMPLING.temperature,
                "top_k": SAMPLING.top_k,
                "samplers": ["top_k", "temperature"],
                "cache_prompt": False,
            }
            for prompt in prompts.tolist()
        ]
        with ThreadPoolExecutor(len(bodies)) as pool:
            answers = list(pool.map(lambda body: server.post("/completion", body), bodies))
        assert all(answer["tokens_predicted"] == tokens for answer in answers)

    return generate


def seconds(generate: Callable[..., None], prompts: torch.Tensor, tokens: int, device: torch.device) -> float:
    devices.synchronise(device)
    began = time.perf_counter()
    generate(prompts, tokens)
    devices.synchronise(device)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batches", help="such as 1,16")
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without", default="", help="what to leave out, such as 'ours, int8' or llama.cpp")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    device = devices.pick(options.device)
    gpu = device.type == "cuda"
    sizes, context = (VOCABULARY, WIDTH, LAYERS, HEADS), options.context
    batches = [int(batch) for batch in (options.batches or ("1,64,256" if gpu else "1,16")).split(",")]
    if options.smoke:
        sizes, context, batches, options.tokens, options.rounds = (300, 16, 1, 2), 64, [2], 4, 1
    dtype = torch.bfloat16 if gpu else torch.float32
    model = models.build(spec_of(sizes), sizes[0], context).to(device, dtype).eval()
    generators = {"ours": ours(model, context), "transformers": theirs(sizes, context, device, dtype)}
    folder = tempfile.TemporaryDirectory()
    if not gpu and options.without != "ours, int8" and weight_formats.can_have_int8_weights(model):
        generators["ours, int8"] = ours(weight_formats.with_int8_weights(copy.deepcopy(model)), context)
    if not gpu and options.without != "llama.cpp" and all(map(find_spec, ("xllamacpp", "gguf"))):
        generators["llama.cpp"] = llama_cpp(model, spec_of(sizes), sizes[0], context, max(batches), Path(folder.name))
    table = Table("batch", "", "tokens/s", "ratio", "first token, ms", "tokens/s after it", "first round, s")
    for batch in batches:
        prompts = torch.randint(0, sizes[0], (batch, options.prompt), generator=torch.Generator().manual_seed(0))
        start = {name: seconds(generate, prompts, options.tokens, device) for name, generate in generators.items()}
        whole: dict[str, list[float]] = {name: [] for name in generators}
        first: dict[str, list[float]] = {name: [] for name in generators}
        for _ in range(options.rounds):
            for name, generate in generators.items():
                whole[name].append(seconds(generate, prompts, options.tokens, device))
                first[name].append(seconds(generate, prompts, 1, device))
        rates = {name: batch * options.tokens / statistics.median(times) for name, times in whole.items()}
        for name, rate in rates.items():
            ratio = f"{rate / rates['transformers']:.2f}"
            first_token = statistics.median(first[name])
            rest = statistics.median(whole[name]) - first_token
            later = f"{batch * (options.tokens - 1) / rest:,.0f}" if rest > 0 else "-"
            times = f"{1000 * first_token:.1f}", later, f"{start[name]:.2f}"
            table.add_row(str(batch), name, f"{rate:,.0f}", ratio, *times)
    Console().print(f"{device}, {dtype}, context {context}, prompts of {options.prompt}, {options.tokens} tokens", table)


if __name__ == "__main__":
    main()
