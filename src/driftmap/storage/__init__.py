"""Files that outlive crashes: output paths, atomic writes, the checkpoint format, saved records and their schemas."""
