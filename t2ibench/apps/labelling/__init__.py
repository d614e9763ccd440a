"""People's labels of a sample of images, which correct what a judge gets wrong."""
