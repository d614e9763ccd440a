"""Published papers, each as one data file and one module."""
