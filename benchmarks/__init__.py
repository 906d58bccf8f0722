"""What we claim about speed, runnable by anyone; ratios are taken side by side in one run.

``python -m benchmarks`` prints all promises with ticks, ``python -m benchmarks.speed`` is the check that they are kept.
"""
