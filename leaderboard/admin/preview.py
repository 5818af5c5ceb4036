"""What Markdown texts look like before they are saved."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

_TEXTS = (("description", "Overview"), ("rules", "Rules"), ("data_description", "Data"))


@require_POST
def page(request: HttpRequest) -> HttpResponse:
    """Render the texts that were typed; store nothing."""
    context = {
        "title": request.POST.get("title", "") or "Preview",
        "texts": [(label, request.POST.get(name, "")) for name, label in _TEXTS],
    }
    return render(request, "admin/competition/preview.html", context)
