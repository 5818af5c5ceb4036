// Upload by drop, with a bar for the bytes sent. Without it the form works as any other.
(() => {
  const form = document.querySelector("form.upload");
  if (!form) return;
  const input = form.querySelector('input[type="file"]');
  const drop = form.querySelector(".drop");
  const chosen = form.querySelector(".chosen");
  const errors = form.querySelector(".form-errors");
  const sending = form.querySelector(".sending");
  const bar = form.querySelector("progress");
  const sent = form.querySelector(".sent-text");
  const button = form.querySelector("button");
  const limit = Number(form.dataset.maxBytes);

  const size = (bytes) => {
    if (bytes < 1e3) return `${bytes} bytes`;
    if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
    return `${(bytes / 1e6).toFixed(1)} MB`;
  };

  const say = (text) => {
    errors.replaceChildren();
    if (!text) return;
    const notice = document.createElement("p");
    notice.className = "notice state-error form-error plain-notice";
    notice.textContent = text;
    errors.append(notice);
  };

  const show = () => {
    const file = input.files[0];
    chosen.hidden = !file;
    drop.classList.toggle("has-file", Boolean(file));
    chosen.textContent = file ? `${file.name}, ${size(file.size)}` : "";
    say(file && file.size > limit ? `The file has ${size(file.size)}; at most ${size(limit)} are accepted.` : "");
  };

  input.addEventListener("change", show);
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) {
    drop.addEventListener(name, () => drop.classList.remove("over"));
  }
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    show();
  });

  const stop = (text) => {
    sending.hidden = true;
    button.disabled = false;
    say(text);
  };

  const answer = (request) => {
    let body = {};
    try {
      body = JSON.parse(request.responseText);
    } catch {
      // Not from the application: a proxy's page, for example.
    }
    if (request.status === 201) location.assign(body.url);
    else stop(body.detail ?? `The server answered ${request.status}. Nothing was counted; try again.`);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (step) => {
      if (!step.lengthComputable) return;
      bar.value = (step.loaded / step.total) * 100;
      sent.textContent = `${size(step.loaded)} of ${size(step.total)}`;
    });
    request.addEventListener("load", () => answer(request));
    request.addEventListener("error", () => stop("The connection broke. Nothing was counted; try again."));
    say("");
    sending.hidden = false;
    button.disabled = true;
    request.send(new FormData(form));
  });
})();
