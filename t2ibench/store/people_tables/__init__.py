"""Reading of tables made by people: CSV, XLSX and JSON (see `reader`)."""
