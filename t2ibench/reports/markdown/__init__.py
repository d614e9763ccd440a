"""results.md and its tables: `document` has the sections in their order."""
