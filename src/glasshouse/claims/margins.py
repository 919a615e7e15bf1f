"""Margins that several claims share: the smallest differences that would matter to somebody who builds a model."""

import math

# Nats per token: 2 % of perplexity. People rarely report perplexities more finely.
TOKEN_LOSS = 0.02
# Nats per character: a word has about five characters.
CHARACTER_LOSS = 0.005
# Shares of items answered correctly: one percentage point.
ACCURACY = 0.01
# Rise of the loss in nats per token up to which a perplexity counts as flat: 5 % of perplexity.
FLAT = math.log1p(0.05)
# Share of the time of a training step.
STEP_TIME = 0.02
