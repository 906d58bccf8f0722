"""Driftmap against the methods one would use instead: python -m benchmarks.peers

data.py has the streams, methods.py the peers behind the small interface.py, child.py what is timed (in a process of its
own per method and stream), run.py starts these, scores.py says how true a map is, report.py and figures.py show it.
"""
