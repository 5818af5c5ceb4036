"""The organizers' pages: Django's admin on a site of our own, one file for each noun or step."""
