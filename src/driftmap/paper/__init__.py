"""The paper's experiments: the rule behind its printed numbers, scenarios, tables and figures."""
