"""Specs in TOML as format 1 wrote them: every field, whether the model has it or not. Format 1 had no `format` field."""

CLASSIFIER = """\
task = "classify"

[data]
source = ""
files = ["rows.tsv"]
field = "text"
label = "label"
target = "target"
picture_size = 32
tokenizer = "words"
tokenizer_file = ""
vocabulary = 500
pattern = "gpt-2"
context = 24
validation = 0.1
test = 0.1

[model]
kind = "encoder"
width = 32
layers = 2
encoder_layers = 0
heads = 4
key_value_heads = 0
head_width = 0
feed_forward = 0
feed_forward_layers = 1
attention = "local-window"
window = 5
rank = 0
position = "rotary"
rotary_base = 500.0
norm = "layer"
epsilon = 1e-05
connection = "pre-norm"
activation = "gelu"
cell = "lstm"
bidirectional = false
causal = false
segments = 0
embedding_norm = false
ngrams = 3
ngram_buckets = 1024
tied = true
bias = true
dropout = 0.1
initialisation = 1.0

[model.head]
kind = ""
classes = 4
pooling = "max"
hidden = 16
norm = "none"
naive_bayes = 0.5
bias = false
width = 0

[model.image]
size = 32
channels = 3
patch = 8
width = 0
layers = 0
heads = 0
feed_forward = 0
norm = false

[training]
steps = 0
epochs = 2.0
batch = 16
accumulate = 4
optimiser = "adamw"
learning_rate = 0.002
schedule = "cosine"
warmup = 0.05
decay = 0.2
final = 0.1
beta1 = 0.9
beta2 = 0.99
weight_decay = 0.1
label_smoothing = 0.0
loss_on = "target"
class_weights = ["balanced"]
average = 0.99
start_from = ""
freeze = "encoder"
thawed = 0.25
layer_decay = 0.9
lora_rank = 0
lora_alpha = 16.0
lora_targets = ["projection", "output"]
patience = 3
clip = 1.0
seed = 7
replicas = 1
precision = "fp32"
threads = 1
compile = false
capture = false
checkpoint_every = 0
loggers = []

[evaluation]
every = 50
batch = 32
tokens = 0
stride = 0
prompts = []
sample_tokens = 60
beams = 1
length_penalty = 1.0
each_word = false
"""

DUAL_ENCODER = """\
task = "match"

[data]
source = "scenes"
files = []
field = "text"
label = "label"
target = "target"
picture_size = 48
tokenizer = "words"
tokenizer_file = ""
vocabulary = 128
pattern = "gpt-2"
context = 20
validation = 0.05
test = 0.05

[model]
kind = "dual-encoder"
width = 64
layers = 1
encoder_layers = 0
heads = 4
key_value_heads = 0
head_width = 0
feed_forward = 0
feed_forward_layers = 1
attention = "dot-product"
window = 0
rank = 0
position = "learned"
rotary_base = 10000.0
norm = "layer"
epsilon = 1e-05
connection = "pre-norm"
activation = "gelu"
cell = "lstm"
bidirectional = false
causal = false
segments = 0
embedding_norm = false
ngrams = 1
ngram_buckets = 16384
tied = true
bias = true
dropout = 0.0
initialisation = 1.0

[model.head]
kind = ""
classes = 0
pooling = "mean"
hidden = 0
norm = "none"
naive_bayes = 0.0
bias = false
width = 40

[model.image]
size = 48
channels = 1
patch = 12
width = 96
layers = 3
heads = 6
feed_forward = 200
norm = true

[training]
steps = 2000
epochs = 0.0
batch = 64
accumulate = 1
optimiser = "adamw"
learning_rate = 0.001
schedule = "cosine"
warmup = 0.05
decay = 0.2
final = 0.0
beta1 = 0.9
beta2 = 0.99
weight_decay = 0.1
label_smoothing = 0.0
loss_on = "target"
class_weights = []
average = 0.0
start_from = ""
freeze = "none"
thawed = 0.5
layer_decay = 1.0
lora_rank = 0
lora_alpha = 16.0
lora_targets = ["projection", "output"]
patience = 0
clip = 1.0
seed = 0
replicas = 1
precision = "auto"
threads = 0
compile = false
capture = true
checkpoint_every = 0
loggers = []

[evaluation]
every = 250
batch = 100
tokens = 0
stride = 0
prompts = []
sample_tokens = 60
beams = 1
length_penalty = 1.0
each_word = false
"""
