"""From captions or prompts to a task file: what a language model proposes, read and pinned."""
