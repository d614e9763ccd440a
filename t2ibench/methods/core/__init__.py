"""What all families are made of."""
