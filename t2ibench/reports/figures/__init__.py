"""Figures as SVG, made without a browser; the page colours them, files carry their own colours."""
