"""The method that measures whom a model changes when it edits an image of a person."""
