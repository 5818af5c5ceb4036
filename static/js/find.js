// Finds metrics by their names and words. Without it all of them are there to scroll through.
(() => {
  const field = document.querySelector(".find");
  if (!field) return;
  const input = field.querySelector("input");
  const status = field.querySelector('[role="status"]');
  const others = document.querySelector("details.others");
  const plain = (text) => text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9²]/g, "");
  const initials = (text) => plain(text.replace(/(\S)\S*/g, "$1"));
  const entries = [...document.querySelectorAll(".found [data-name]")].map((element) => ({
    element,
    text: `${plain(element.dataset.name + element.textContent)} ${initials(element.textContent)}`,
  }));

  const find = () => {
    const words = input.value.split(/\s+/).map(plain).filter(Boolean);
    let found = 0;
    for (const { element, text } of entries) {
      const fits = words.every((word) => text.includes(word));
      found += fits ? 1 : 0;
      element.hidden = !fits && !element.querySelector(":checked");
    }
    for (const section of document.querySelectorAll(".found"))
      section.hidden = !section.querySelector("[data-name]:not([hidden])");
    if (others && words.length > 0)
      others.open = Boolean(others.querySelector("[data-name]:not([hidden])"));
    status.textContent = words.length > 0 ? `${found} of ${entries.length}` : "";
  };

  field.hidden = false;
  input.addEventListener("input", find);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // It would send the form.
  });
  find();
})();
