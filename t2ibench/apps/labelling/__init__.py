"""People's labels of sampled images, which show and correct a judge's errors."""
