"""SVG figures made without a browser; pages set their colours, files contain their own."""
