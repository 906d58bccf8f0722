"""What we claim about speed, runnable by anyone; ratios are taken side by side in one run."""
