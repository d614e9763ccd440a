"""Writers of decisions: terminal, Markdown, JSON, JUnit XML and a page."""
