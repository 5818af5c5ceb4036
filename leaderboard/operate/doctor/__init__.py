"""`manage.py doctor`: look at every part of an installation, say how to fix what is wrong."""
