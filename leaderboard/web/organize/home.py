"""The console's first page: the competitions that a person runs."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from leaderboard import queries
from leaderboard.web.organize.frame import organizers_only


@organizers_only
def home(request: HttpRequest) -> HttpResponse:
    """List the competitions that the person runs, with what is next in each."""
    return render(request, "organize/list.html", {"rows": queries.organized(request.user)})


@organizers_only
@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Show what Markdown texts look like as they were typed; store nothing."""
    texts = (("description", "Overview"), ("rules", "Rules"), ("data_description", "Data"))
    context = {
        "title": request.POST.get("title", "") or "Preview",
        "texts": [(label, request.POST.get(name, "")) for name, label in texts],
    }
    return render(request, "organize/preview.html", context)
