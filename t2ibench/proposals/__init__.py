"""Propose task files for captions or prompts with a language model."""
