"""The text of results.md, whose sections `document` puts in order, and its tables."""
