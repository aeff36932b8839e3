"""What a search needs before its first pull."""
