"""Files that outlive a crash, and the watermark that is made of them: for server and oracle alike.

The standard library alone; it knows neither.
"""
