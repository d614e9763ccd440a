"""SVG figures made without a browser; a page sets their colours, a file contains its own."""
