"""The leaderboard, whose submitted scores anyone can recompute without the images."""
