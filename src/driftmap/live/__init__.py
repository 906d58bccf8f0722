"""The live view of a stream in a browser or a notebook."""
