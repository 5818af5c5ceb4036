// Forms that need a passkey are shown where the browser knows them; what goes wrong is said beside.
document.addEventListener("DOMContentLoaded", () => {
  if (!window.PublicKeyCredential) return;
  for (const form of document.querySelectorAll("form.passkey")) form.hidden = false;
  for (const note of document.querySelectorAll(".no-passkey")) note.hidden = true;
});
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  for (const place of document.querySelectorAll(".passkey-error")) {
    place.textContent = "Your browser gave no passkey. You can try again, or use another way.";
    place.hidden = false;
  }
});
