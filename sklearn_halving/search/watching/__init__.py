"""Who is told while a search runs: progress, callbacks, warnings."""
