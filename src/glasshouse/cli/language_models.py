"""Ask, chat with, compare and examine language models."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import glasshouse
from glasshouse import formatting
from glasshouse.cli.options import Config, Device, LanguageModel, System, argument, has_options, option, writes_output
from glasshouse.cli.tables import console, show
from glasshouse.llms.language_model import GridOptions, Options
from glasshouse.records import progress_bar
from glasshouse.records.progress_bar import say
from glasshouse.specs.options import given

RESET, QUIT = "/reset", "/quit"
# The most likely tokens that `recover` prints.
TOKENS_SHOWN = 10
# Characters of an answer of a grid that are printed as it comes.
ANSWER_SHOWN = 60


class Printer:
    """Prints the pieces of one answer."""

    def __init__(self) -> None:
        self.column_zero = True

    def show(self, piece: str) -> None:
        """Print a piece at once."""
        text = printable(piece)
        sys.stdout.write(text)
        sys.stdout.flush()
        if text:
            self.column_zero = text.endswith("\n")

    def end(self, reply: Any = None) -> None:
        """End the last line; then say how long the answer is and how long it took."""
        if not self.column_zero:
            sys.stdout.write("\n")
            sys.stdout.flush()
        if reply is not None:
            cut = ", cut off" if reply.finish == "length" else ""
            tokens = "1 token" if reply.tokens == 1 else f"{reply.tokens:,} tokens"
            progress_bar.console.print(f"{tokens}, {formatting.duration(reply.seconds)}{cut}", style="dim", highlight=False)


def printable(text: str) -> str:
    """A text with signs for the control characters with which a model could change the terminal."""
    encoding = sys.stdout.encoding or "utf-8"
    return formatting.without_controls(text).encode(encoding, "replace").decode(encoding)


@has_options(Options)
def ask(
    model: LanguageModel,
    question: Annotated[str, argument("The question.", "QUESTION")],
    options: Options,
    system: System = "",
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Ask a language model one question. The answer is printed as it comes.

    Examples:
        glasshouse ask demo-lm "Who was Chandragupta Maurya?"
        glasshouse ask gguf:model.gguf "What is 77 divided by 26?" --temperature 0
        glasshouse ask remote "Name three rivers." --system "Answer in one line." --max-tokens 60
    """
    from glasshouse.api import llms

    printer = Printer()
    printer.end(llms.ask(model, question, system, config, device, printer.show, **given(options)))


@has_options(Options, leave_out=("max_tokens",))
def chat(
    model: LanguageModel,
    options: Options,
    max_tokens: Annotated[
        int | None,
        option("The largest number of tokens of an answer; default: 256, or half of a small context.", low=1, high=10**6),
    ] = None,
    system: System = "",
    output: Annotated[Path | None, option("A text file to which the chat is appended.")] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Chat with a language model. Every line is a message; /reset starts anew, /quit or Ctrl-D ends, Ctrl-C stops an answer.

    The oldest messages are left out once the context is full.

    Examples:
        glasshouse chat demo-lm
        glasshouse chat gguf:model.gguf --system "You are a botanist." --output chat.txt
        printf "Hello\\nAnd now?\\n" | glasshouse chat demo-lm --seed 1
    """
    from glasshouse.api import llms

    opened = llms.open_chat(model, system, max_tokens, output, config, device, **given(options))
    for line in _lines():
        if line == QUIT:
            break
        if line == RESET:
            opened.reset()
            say("(new chat)")
            continue
        if line.startswith("/"):
            say(f"(unknown command {line.split()[0]}; write {RESET} or {QUIT})")
            continue
        printer = Printer()
        try:
            reply = opened.say(line, printer.show)
        except KeyboardInterrupt:
            printer.end()
            say("(stopped; the question is not kept)")
            continue
        printer.end(reply)
        if opened.dropped:
            say(f"(the oldest {opened.dropped} messages no longer fit into the context)")


def _lines() -> Iterator[str]:
    """The lines of the terminal, with a prompt, or of a pipe. Empty ones are left out."""
    terminal = sys.stdin.isatty()
    if terminal:
        import readline  # noqa: F401  (arrow keys edit a line and recall earlier ones)
    while True:
        try:
            line = input("> ") if terminal else sys.stdin.readline()
        except EOFError:
            print()
            return
        if not terminal and not line:
            return
        if line.strip():
            yield line.strip()


@has_options(GridOptions)
def grid(
    options: GridOptions,
    questions: Annotated[
        Path | None, argument("A TOML file; default: four questions that ship with the package.", "QUESTIONS")
    ] = None,
    models: Annotated[str, option("The models, as in `glasshouse ask`, separated by commas.", metavar="A,B,C")] = "",
    output: Annotated[Path | None, option("The folder of the grid; default: grids/NAME-HASH.", metavar="FOLDER")] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Ask several models the same questions, check the answers, and lay them side by side on a page.

    Answers are kept as they come; a killed grid continues with the same command.

    Examples:
        glasshouse grid --models demo-lm,gguf:model.gguf
        glasshouse grid questions.toml --models a,b,c --temperature 0.7 --repeats 5
        glasshouse grid questions.toml --models remote --output grids/remote
    """
    from glasshouse.api import llms

    names = [name.strip() for name in models.split(",") if name.strip()]
    opened = llms.open_grid(questions, names, output, config, device, **given(options))
    outcome = llms.run_grid(opened, lambda event: _say_answer(opened, event))
    _print_grid(outcome)
    if outcome.failed:
        model, error = next(iter(outcome.failed.items()))
        raise glasshouse.GlasshouseError(f"{model} did not answer everything: {error}; then continue with the same command")


def _say_answer(grid: Any, event: Any) -> None:
    """Print an answer of a grid on one line."""
    answer = event.answer
    if answer is None:
        return
    mark = "" if answer.passed is None else "right  " if answer.passed else "wrong  "
    facts = f"{answer.tokens} tokens, {formatting.duration(answer.seconds)}"
    progress_bar.say(
        f"{len(grid.found)}/{grid.size}  {answer.model}  {answer.question}  repeat {answer.repeat + 1}  {mark}({facts})  "
        f"{' '.join(printable(answer.text).split())[:ANSWER_SHOWN]}"
    )


def _print_grid(outcome: Any) -> None:
    """Print the table of models, the comparisons and the files."""
    scores = outcome.results.scores
    with_cost = any(score.cost is not None for score in scores)
    columns = ["model", "right", "accuracy, %", "agreement, %", "tokens", "time"]
    rows = [
        [
            score.model,
            f"{score.passed} of {score.checked}" if score.checked else formatting.MISSING,
            _proportion(score.accuracy),
            _proportion(score.agreement),
            f"{score.tokens:,}",
            formatting.duration(score.seconds),
            *([formatting.MISSING if score.cost is None else f"{score.cost:.4f}"] if with_cost else []),
        ]
        for score in scores
    ]
    show([*columns, *(["cost"] if with_cost else [])], rows, right=(1, 4, 5, 6))
    console.print("In brackets: 95 % intervals, for questions like these.")
    for comparison in outcome.results.comparisons:
        console.print(comparison.sentence)
    console.print(f"\nanswers  {outcome.folder / 'answers.jsonl'}")
    console.print(f"page     {outcome.page}")


def _proportion(proportion: Any) -> str:
    if proportion is None:
        return formatting.MISSING
    return f"{100 * proportion.share:.0f} ({100 * proportion.low:.0f} to {100 * proportion.high:.0f})"


def debate(
    topic: Annotated[str, argument("What to argue for and against.", "TOPIC")],
    models: Annotated[str, option("The models, separated by commas: run:NAME, or from llms.toml.", metavar="A,B")],
    points: Annotated[int, option("The number of points for, and against, in each round.", high=1000)] = 3,
    rounds: Annotated[int, option("From round 2 on a model answers the last argument of the next one.", high=1000)] = 2,
    judge: Annotated[str | None, option("A model that says which of two arguments is better.", metavar="C")] = None,
    temperatures: Annotated[str, option("The debate is held at each of these temperatures.", metavar="T,T")] = "0.7",
    seed: Annotated[int, option("The random seed.", high=2**63 - 1)] = 0,
    max_tokens: Annotated[int, option("The maximum number of tokens of a point.", high=10**6)] = 160,
    entailment: Annotated[
        str | None, option("An entailment model that finds contradictions; default: a rough stand-in.", metavar="RUN")
    ] = None,
    control_topic: Annotated[
        str | None, option('Another topic, to see what points on different things share; "" for none.', metavar="TEXT")
    ] = None,
    output: Annotated[Path | None, option("Default: debates/TOPIC.", metavar="FOLDER")] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Let models argue for and against a topic, and measure how they repeat and contradict themselves and drift off it.

    A killed debate continues with the same command. A judge or an entailment model can be added to a debate.

    Examples:
        glasshouse debate "self-driving cars" --models run:demo-lm,run:stories
        glasshouse debate "self-driving cars" --models small,large --judge large --rounds 3
        glasshouse debate "canards on a stealth fighter" --models small,large --temperatures 0.2,0.7,1.2 --output canards
    """
    from glasshouse.api import llms

    result = llms.debate(
        topic,
        models,
        points,
        rounds,
        judge,
        temperatures,
        seed,
        output,
        config,
        entailment,
        control_topic,
        max_tokens,
        device,
    )
    columns, rows = result.table
    show(columns, rows, right=range(1, len(columns)))
    for line in result.remarks:
        console.print(line)
    console.print(f"page  {result.page}")


@writes_output
def recover(
    model: Annotated[str, argument("A run, run:NAME, or a model of kind openai that llms.toml names.", "MODEL")],
    prompt: Annotated[str, option("The text before the next token.")],
    top: Annotated[int, option("The number of log-probabilities that the API shows.", low=1, high=10**7)] = 20,
    method: Annotated[
        Literal["ratio", "closed-form", "forced", "bisection"] | None,
        option("How to recover; default: the method that suits what the first calls show."),
    ] = None,
    estimate: Annotated[bool, option("Print the calls and the expected error, and stop.", "--estimate")] = False,
    top_p: Annotated[
        float | None, option("Then sample from the most likely tokens whose probabilities sum to P.", low=0.001, max=1)
    ] = None,
    count: Annotated[int, option("The number of tokens to sample.", low=1, high=10**7)] = 1,
    seed: Annotated[int, option("The random seed of the samples.", high=2**63 - 1)] = 0,
    decimals: Annotated[
        int | None, option("Imitate an API that rounds log-probabilities to so many decimals.", low=0, max=17)
    ] = None,
    before_bias: Annotated[
        bool, option("Imitate an API that shows log-probabilities before the bias.", "--before-bias")
    ] = False,
    output: Annotated[Path | None, option("A JSON file for the probability of every token.")] = None,
    journal: Annotated[Path | None, option("The file of the answers so far; default: in the folder of the run.")] = None,
    config: Annotated[Path | None, option("The file that names models; default: llms.toml.")] = None,
    device: Device = "auto",
) -> None:
    """Recover the probability of every next token from an API that shows only the most likely ones and takes a logit bias.

    A killed recovery continues with the same command.

    Examples:
        glasshouse recover demo-lm --prompt "The state of" --top 2
        glasshouse recover demo-lm --prompt "The state of" --estimate
        glasshouse recover demo-lm --prompt "The state of" --top 5 --decimals 4 --top-p 0.9 --count 5
    """
    from glasshouse.api import llms

    recovery = llms.open_recovery(model, prompt, top, method, decimals, before_bias, journal, device, config)
    probe = recovery.probe()
    plan = recovery.plan(probe)
    side = "after" if probe.after_bias else "before"
    console.print(f"{recovery.api.name} shows {probe.top} log-probabilities {side} the bias, exact to {probe.rounding:.1g}")
    console.print(
        f"method {plan.method}: {plan.calls:,} calls for {recovery.api.vocabulary:,} tokens, "
        f"expected error of a log-probability {plan.expected_error:.1g}"
    )
    if estimate:
        return
    found = llms.recover(recovery)
    rows = [
        (repr(recovery.api.token_text(token)), f"{math.exp(found.log_probabilities[token]):.6f}", f"{error:.1g}")
        for token in found.most_likely(TOKENS_SHOWN)
        for error in (found.errors[token],)
    ]
    show(("token", "probability", "relative error"), rows, right=(1, 2))
    error = llms.recovery_error(recovery, found)
    console.print(
        f"{found.calls:,} calls"
        + ("" if error is None else f"; largest error against the log-probabilities of the run: {error:.1g}")
        + (f"; {found.missing:,} tokens too improbable to be shown" if found.missing else "")
    )
    if top_p is not None:
        drawn = found.sample(count, top_p, seed=seed)
        console.print("sampled: " + "  ".join(repr(recovery.api.token_text(token)) for token in drawn))
    if output is not None:
        llms.write_recovered(recovery, found, output)
