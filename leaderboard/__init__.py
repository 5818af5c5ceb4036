"""The Holdfast server: a Django project and its one app."""
