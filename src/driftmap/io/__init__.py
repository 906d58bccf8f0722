"""Input and output: readers and writers of tables, followed files, steps before the map, atomic writes."""
