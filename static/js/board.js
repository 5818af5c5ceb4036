// Keeps an open board up to date: it asks whether there is something new, and takes over what there
// is. Place, focus and what is folded out stay. Without it the page is as it was when it was loaded.
(() => {
  const versioned = document.querySelector("[data-version]");
  if (!versioned) return;
  let version = versioned.dataset.version;
  const every = 30_000;
  const handles = "a, button, input, summary";

  // A thing is found again by its row and its number there; outside of rows by its part.
  const home = (element) => element.closest("[data-row]") ?? element.closest("[data-live]");
  const again = (place) =>
    place.dataset.row
      ? document.querySelector(`[data-row="${CSS.escape(place.dataset.row)}"]`)
      : document.getElementById(place.id);
  const locate = (element, kind) => {
    const place = element && home(element);
    return place && { place, kind, index: [...place.querySelectorAll(kind)].indexOf(element) };
  };
  const found = (spot) => again(spot.place)?.querySelectorAll(spot.kind)[spot.index];

  const take = (page) => {
    const top = [...document.querySelectorAll("[data-row]")].find(
      (row) => row.getBoundingClientRect().top >= 0,
    );
    const before = top?.getBoundingClientRect().top;
    const focused = locate(document.activeElement, handles);
    const open = [...document.querySelectorAll("[data-live] details[open]")].map((each) =>
      locate(each, "details"),
    );
    for (const part of document.querySelectorAll("[data-live]")) {
      const newer = page.getElementById(part.id);
      if (newer) part.replaceWith(document.adoptNode(newer));
    }
    for (const spot of open) found(spot)?.setAttribute("open", "");
    if (focused) found(focused)?.focus({ preventScroll: true });
    const moved = top && again(top);
    if (moved) window.scrollBy({ top: moved.getBoundingClientRect().top - before, behavior: "instant" });
  };

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const headers = { "Board-Version": version };
      const response = await fetch(location.href, { headers, cache: "no-store" });
      if (response.status !== 200) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const newer = page.querySelector("[data-version]")?.dataset.version;
      if (!newer) return;
      version = newer;
      take(page);
    } catch {
      // The site is away; the next time may do.
    }
  };

  setInterval(refresh, every);
  document.addEventListener("visibilitychange", refresh);
})();
