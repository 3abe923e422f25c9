"""Formatting of results: numbers, HTML and progress bars."""
