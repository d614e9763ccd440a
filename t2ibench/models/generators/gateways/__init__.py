"""Generators behind APIs that are not OpenAI's images API: a small dialect for each.

A dialect sends a request in its own form and turns the reply into the form of OpenAI's images API,
an image in `data` or an error with a code, a stage and categories; `HostedGenerator` does the rest.
"""
