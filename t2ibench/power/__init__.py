"""Forecasts of how large a run has to be, from the variance of a pilot."""
