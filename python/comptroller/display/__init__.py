"""How results are shown: numbers as text, HTML, progress."""
