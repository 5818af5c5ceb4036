// Upload by drop; a check of the file in a worker before it is sent; bytes, speed and time left
// while it is. Without it the form works as any other.
(() => {
  const form = document.querySelector("form.upload");
  if (!form) return;
  const input = form.querySelector('input[type="file"]');
  const drop = form.querySelector(".drop");
  const chosen = form.querySelector(".chosen");
  const checked = form.querySelector(".checked");
  const errors = form.querySelector(".form-errors");
  const sending = form.querySelector(".sending");
  const bar = form.querySelector("progress");
  const sent = form.querySelector(".sent-text");
  const cancel = form.querySelector(".cancel");
  const button = form.querySelector("button:not(.cancel)");
  const limit = Number(form.dataset.maxBytes);
  const isClosed = button.disabled; // no quota left, or paused
  let worker = null;
  let request = null;

  const size = (bytes) => {
    if (bytes < 1e3) return `${bytes} bytes`;
    if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
    return `${(bytes / 1e6).toFixed(1)} MB`;
  };
  const count = (number) => Math.round(number).toLocaleString("en-US");
  const rows = (number) => `${count(number)} row${number === 1 ? "" : "s"}`;
  const time = (seconds) => (seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`);

  const say = (text) => {
    errors.replaceChildren();
    if (!text) return;
    const notice = document.createElement("p");
    notice.className = "notice state-error form-error plain-notice";
    notice.textContent = text;
    errors.append(notice);
  };

  // --- The check ---------------------------------------------------------------------------------

  const paragraph = (text, name = "") => {
    const made = document.createElement("p");
    made.className = name;
    // Names between backticks are set as code.
    text.split("`").forEach((part, place, all) => {
      const element = document.createElement(place % 2 && all.length % 2 ? "code" : "span");
      element.textContent = part;
      made.append(element);
    });
    return made;
  };
  const card = (state, title, ...texts) => {
    const made = document.createElement("div");
    made.className = `notice plain-notice state-${state}`;
    made.append(paragraph(title, "title"), ...texts.map((text) => paragraph(text)));
    return made;
  };
  const again = ({ number, status }) => {
    const link = document.createElement("a");
    link.href = checked.dataset.submission.replace("/0/", `/${number}/`);
    link.textContent = `submission ${number}`;
    const what = {
      released: "It would get the same result and take no quota.",
      rejected: "That one was rejected.",
    }[status] ?? "That one has no result yet.";
    const made = card("warning", "", what);
    made.querySelector(".title").replaceChildren("Same file as ", link);
    return made;
  };
  const verdict = ({ good, problems, isForServer, took }) => {
    if (problems) {
      const title = problems.length === 1 ? "This file would be rejected" : `This file would be rejected: ${problems.length} problems in its header`;
      return card("rejected", title, ...problems, "Found in your browser; nothing was sent. It looked no further than this.");
    }
    if (!good) {
      const why = isForServer ? "Its format can be read on the server only." : "The check did not work here.";
      return card("info", "Not checked in the browser", `${why} The server checks it after the upload.`);
    }
    const speed = good.seconds > 1 ? `, ${count(good.rows / good.seconds)} rows a second` : "";
    const ids = good.ids ? "each id of the sample submission once" : "its ids are compared on the server";
    return card("success", "The file looks right", `${rows(good.rows)}, ${ids}. Checked in your browser in ${took.toFixed(1)} s${speed}.`);
  };

  const stopCheck = () => {
    worker?.terminate();
    worker = null;
    checked.removeAttribute("aria-busy");
  };

  const check = (file) => {
    stopCheck();
    checked.hidden = !file;
    checked.replaceChildren();
    if (!file || !window.Worker) return;
    const notes = [];
    const show = (part) => checked.replaceChildren(...notes, part);
    checked.setAttribute("aria-busy", "true"); // only the verdict is read out
    show(paragraph("Checking …", "quiet small"));
    worker = new Worker(checked.dataset.worker);
    worker.addEventListener("message", ({ data }) => {
      if (data.same) notes.push(again(data.same));
      if (data.rows) show(paragraph(`Checking … ${rows(data.rows)}, ${count(data.rows / data.seconds)} a second`, "quiet small figures"));
      if (data.done) {
        show(verdict(data));
        stopCheck();
      }
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      show(verdict({}));
      stopCheck();
    });
    worker.postMessage({ file, url: new URL(checked.dataset.facts, location.href).href });
  };

  const show = () => {
    const file = input.files[0];
    const isTooLarge = Boolean(file) && file.size > limit;
    chosen.hidden = !file;
    drop.classList.toggle("has-file", Boolean(file));
    chosen.textContent = file ? `${file.name}, ${size(file.size)}` : "";
    button.disabled = isClosed || isTooLarge;
    say(isTooLarge ? `The file has ${size(file.size)}; at most ${size(limit)} are accepted.` : "");
    check(isTooLarge ? null : file);
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
    if (request || event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    show();
  });

  // --- The upload ----------------------------------------------------------------------------------

  const stop = (text) => {
    request = null;
    sending.hidden = true;
    button.disabled = isClosed;
    say(text);
  };

  const answer = () => {
    let body = {};
    try {
      body = JSON.parse(request.responseText);
    } catch {
      // Not from the application: a proxy's page, for example.
    }
    if (request.status === 201) location.assign(body.url);
    else stop(body.detail ?? `The server answered ${request.status}. Nothing was counted; try again.`);
  };

  const progress = (started) => (step) => {
    if (!step.lengthComputable) return;
    const seconds = (performance.now() - started) / 1000;
    const speed = step.loaded / seconds;
    bar.value = (step.loaded / step.total) * 100;
    const isSent = step.loaded === step.total;
    const left = seconds > 1 && !isSent ? `, ${size(speed)} a second, ${time((step.total - step.loaded) / speed)} left` : "";
    sent.textContent = isSent ? "Sent. Waiting for the server …" : `${size(step.loaded)} of ${size(step.total)}${left}`;
    cancel.hidden = isSent; // the server may have taken it
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (request || button.disabled) return;
    stopCheck();
    if (!checked.querySelector(".notice")) checked.hidden = true;
    request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", progress(performance.now()));
    request.addEventListener("load", answer);
    request.addEventListener("error", () => stop("The connection broke. Look first whether the file is among your submissions, then try again."));
    request.addEventListener("abort", () => {
      stop("");
      sent.textContent = "";
      say("Cancelled. Nothing was sent in full, and nothing was counted.");
    });
    say("");
    bar.value = 0;
    sent.textContent = "";
    cancel.hidden = false;
    sending.hidden = false;
    button.disabled = true;
    request.send(new FormData(form));
  });
  // Who comes back to the page finds it as it was left.
  addEventListener("pageshow", (event) => event.persisted && stop(""));
  cancel.addEventListener("click", () => request?.abort());
})();
