"""Where pulls run: executors, worker processes and their guards."""
