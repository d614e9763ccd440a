"""Tables that people made: CSV, XLSX and JSON, read by one reader (see `reader`)."""
