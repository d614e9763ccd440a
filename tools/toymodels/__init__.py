"""The parts of tools/train_toy.py."""
