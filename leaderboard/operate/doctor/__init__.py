"""`manage.py doctor`: looks at every part of an installation and says how to mend what is wrong."""
