"""Watching a folder of images: each complete set of prompts is scored once it is written."""
