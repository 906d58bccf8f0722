"""The paper's experiments: its scenarios, the rule behind its printed numbers, its theorems, tables and figures."""
