"""The organizers' pages: Django's admin on a site of our own."""
