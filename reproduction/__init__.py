"""The paper's experiments: scenarios, the rule behind the printed numbers, Table 1, figures, statements of the text."""
