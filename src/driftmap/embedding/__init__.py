"""Where points go, given landmarks."""
