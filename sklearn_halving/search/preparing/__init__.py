"""Preparation of a search before its first pull."""
