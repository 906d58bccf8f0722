"""What there is to choose from: words that the library and the command line share.

Imports nothing: the command line needs them before it has the time to import the library.
"""

RULES = ("tight", "paper")
EMBEDDINGS = ("stress", "weighted-lmds", "lmds")
"""The first is the default."""
ANIMATIONS = (".gif", ".mp4")
