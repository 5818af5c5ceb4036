"""Addresses as other sites need them: whole."""

from django import template
from django.conf import settings
from django.urls import reverse

register = template.Library()


@register.simple_tag
def absolute(name: str, *args: str) -> str:
    """Return the whole address of a page."""
    return f"{settings.SITE_URL}{reverse(name, args=args)}"


@register.filter
def at_site(path: str) -> str:
    """Return the whole address of a path of this site."""
    return f"{settings.SITE_URL}{path}"
