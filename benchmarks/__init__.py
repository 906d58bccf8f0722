"""Benchmarks behind all claims about speed; ratios come from runs side by side.

``python -m benchmarks`` measures all claims and reports which hold; ``python -m benchmarks.speed`` checks regressions.
"""
