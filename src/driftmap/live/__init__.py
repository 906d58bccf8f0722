"""The live view: what is shown of a stream in a browser. It knows nothing of how maps are learnt."""
