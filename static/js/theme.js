// Light or dark: the system's choice, unless the reader chose otherwise. Runs before first paint.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const store = (theme) => {
    try {
      if (theme === null) localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      // Storage is switched off: the choice lasts for this page.
    }
  };
  const systemTheme = () => (system.matches ? "dark" : "light");

  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  const current = () => root.dataset.theme ?? systemTheme();
  const choose = (theme) => {
    if (theme === systemTheme()) delete root.dataset.theme;
    else root.dataset.theme = theme;
    store(root.dataset.theme ?? null);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme-switch");
    if (!button) return;
    const show = () => button.setAttribute("aria-pressed", String(current() === "dark"));
    button.addEventListener("click", () => {
      choose(current() === "dark" ? "light" : "dark");
      show();
    });
    system.addEventListener("change", show);
    button.hidden = false;
    show();
  });
})();
