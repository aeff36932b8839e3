"""Base classes and functions that several policies share."""
