// Moments in the reader's own time, and the last day before a deadline counted down.
(() => {
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "short" });
  const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });
  const named = (when) => {
    const name = zone.formatToParts(when).find((part) => part.type === "timeZoneName");
    return `${local.format(when)} ${name.value}`;
  };
  const show = (root) => {
    for (const element of root.querySelectorAll("time[datetime]")) {
      const when = new Date(element.dateTime);
      if (element.title) element.title = `${named(when)} (${element.title})`;
      else if (new Date().getTimezoneOffset()) {
        element.title = element.textContent;
        element.textContent = named(when);
      }
    }
  };
  const two = (number) => String(number).padStart(2, "0");
  const count = () => {
    for (const element of document.querySelectorAll("time[data-countdown]")) {
      const left = Math.floor((new Date(element.dateTime) - Date.now()) / 1000);
      if (left < 0 || left >= 86400) continue;
      const text = `${Math.floor(left / 3600)}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
      element.textContent = `in ${text}`;
    }
  };
  show(document);
  document.addEventListener("htmx:load", (event) => show(event.detail.elt));
  count();
  if (document.querySelector("time[data-countdown]")) setInterval(count, 1000);
})();
