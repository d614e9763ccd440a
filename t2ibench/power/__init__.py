"""How large a run has to be: forecasts from a pilot's variance."""
