"""Short explanations of the words on the pages, for a reader who meets them for the first time. All are here, in one place.

A page shows one on demand, behind a question mark. An explanation says what the word means, which direction is good, and
what not to conclude from it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """The answer to "what is this?" in two or three sentences."""

    word: str
    text: str


_TEXTS = {
    "perplexity": (
        "How many equally likely tokens would be as hard to choose from as the next token is for this model. 1 is "
        "perfect, and the size of the vocabulary is guessing. It depends on the tokenizer, so models with "
        "different tokenizers cannot be compared by it."
    ),
    "loss": (
        "What the model is trained to make small: the mean cross-entropy of its predictions, in nats. 0 is "
        "perfect. The perplexity is its exponential."
    ),
    "bits per byte": (
        "How many bits the model would need to store a byte of the text, if it were used as a compressor. Guessing "
        "needs 8. Unlike perplexity it can be compared between tokenizers."
    ),
    "accuracy": (
        "The share of predictions that are right. Compare it with always saying the commonest class: that needs no model."
    ),
    "micro F1": (
        "The harmonic mean of precision and recall over all classes together. Common classes count most; 1 is perfect."
    ),
    "macro F1": (
        "The harmonic mean of precision and recall, averaged over the classes. A rare class counts as much as a "
        "common one; 1 is perfect."
    ),
    "entity F1": (
        "The harmonic mean of precision and recall of whole entities: all words and the type must be right. 1 is perfect."
    ),
    "BLEU": (
        "How many runs of one to four words a translation shares with the reference, from 0 to 100. It counts "
        "shared words, not meaning, so a good translation in other words scores low."
    ),
    "chrF": (
        "How many runs of characters a translation shares with the reference, from 0 to 100. It is kinder to other "
        "endings of a word than BLEU."
    ),
    "exact match": "The share of outputs that equal their reference in every character.",
    "RMSE": ("The square root of the mean squared error, in the unit of the predicted number. Large errors count most."),
    "R²": (
        "The share of the variance of the numbers that the predictions explain. 1 is perfect; 0 is what always "
        "predicting the mean reaches, and below 0 is worse than that."
    ),
    "attention": (
        "For each token, how much each other token contributes in one head of one layer: the weights of a row sum "
        "to 1. A weight shows what the head reads, not by itself why the model predicts what it does."
    ),
    "confusion matrix": (
        "How often each true class was predicted as each class. The diagonal is right; a dark cell beside it is a "
        "pair of classes that the model mixes up."
    ),
    "baselines": (
        "Simple models that anyone would try first. If the Transformer is not better than these, its task may need "
        "no Transformer, or it needs more data or more steps."
    ),
    "learning curve": (
        "The loss over training steps. If the training loss falls while the validation loss rises, the model "
        "begins to know its training text by heart (overfitting)."
    ),
    "samples": (
        "Texts that the model wrote, one random token at a time. A lower temperature chooses likely tokens more "
        "often: safer and more repetitive. Top-p leaves out the unlikely tokens that together have 1 - p."
    ),
    "verdict": (
        "Whether an arm is better or worse than the first arm, does as well, or is undecided. It is judged over several "
        "seeds, because two runs that differ in nothing but the seed end differently too. Undecided is no evidence that "
        "the arms are equal."
    ),
    "seed": (
        "The number from which the initial weights and the order of the data follow. Runs that differ in nothing "
        "but the seed end with different losses; a verdict says whether a difference is larger than that."
    ),
    "margin": (
        "The largest difference that does not matter. A difference that is shown to be smaller is called no difference."
    ),
    "interval": (
        "If the study were repeated many times, 95 % of such intervals would contain the true difference. A short "
        "interval means that the difference is known well, not that it is large."
    ),
    "p": (
        "The probability of a difference at least this large between arms that do not differ. It is not the "
        "probability that the arms are equal. Holm's correction makes it larger, because several arms are several "
        "chances for a false alarm."
    ),
    "effect": (
        "The mean difference in standard deviations of the differences between seeds. It says how clear a "
        "difference is beside the noise of seeds, not how much it matters."
    ),
    "gradient norm": ("The length of the gradient of a step before clipping. A jump often comes before a loss that rises."),
    "word attribution": (
        "How much the probability of the predicted class, or the predicted number, falls if one word is left out of the "
        "text. A word with a positive value speaks for the class, or raises the number. Words that say the same thing "
        "can hide each other: leaving out one of them changes little."
    ),
}
EXPLANATIONS = {word: Explanation(word, text) for word, text in _TEXTS.items()}


def find(word: str) -> Explanation | None:
    """The explanation of a word; of a title such as "validation perplexity", that of the metric at its end."""
    for start in range(len(words := word.split())):
        if (rest := " ".join(words[start:])) in EXPLANATIONS:
            return EXPLANATIONS[rest]
    return None
