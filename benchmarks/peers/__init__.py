"""Compare Driftmap with alternative methods: python -m benchmarks.peers

data.py has the streams, methods.py adapts the methods to interface.py, child.py is the timed process per method and
stream, run.py starts these processes, scores.py measures the maps, report.py and figures.py present the results.
"""
