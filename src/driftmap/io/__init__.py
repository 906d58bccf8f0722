"""Input and output: readers and writers of tables, followed files, atomic writes. Nothing here prints."""
