// Several files at once: public ones are sent one by one, to the disk, with a bar for the bytes;
// the solution goes with the form, into memory. Without it the form works as any other.
(() => {
  const form = document.querySelector("form.quick");
  if (!form) return;
  const many = form.querySelector('input[name="files"]');
  const drop = form.querySelector(".drop");
  const list = form.querySelector(".chosen-files");
  const errors = form.querySelector(".form-errors");
  const sending = form.querySelector(".sending");
  const bar = form.querySelector("progress");
  const told = form.querySelector(".sent-text");
  const button = form.querySelector("button");
  const title = form.querySelector('input[name="title"]');
  const token = form.querySelector('input[name="csrfmiddlewaretoken"]').value;
  const singles = ["train", "test", "solution", "sample"];
  const kept = new Map(); // what was sent before, by name, size and time
  const titles = { train: "Training data", test: "Test data", solution: "Solution", sample: "Sample submission" };
  const patterns = [
    ["sample", /sample|submission|example/],
    ["solution", /solution|truth|answer|labels?\b|_y\b|y_test/],
    ["train", /train|learn/],
    ["test", /test|unlabell?ed|eval/],
  ];

  const size = (bytes) => {
    if (bytes < 1e3) return `${bytes} bytes`;
    if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
    if (bytes < 1e9) return `${(bytes / 1e6).toFixed(1)} MB`;
    return `${(bytes / 1e9).toFixed(2)} GB`;
  };
  const role = (file) => {
    const stem = file.name.toLowerCase().split(".")[0].replaceAll("-", "_");
    return (patterns.find(([, pattern]) => pattern.test(stem)) ?? [""])[0];
  };
  const key = (file) => `${file.name} ${file.size} ${file.lastModified}`;

  const say = (texts) => {
    errors.replaceChildren(
      ...texts.map((text) => {
        const notice = document.createElement("p");
        notice.className = "notice state-error form-error plain-notice";
        notice.textContent = text;
        return notice;
      }),
    );
    if (texts.length) errors.scrollIntoView({ block: "nearest" });
  };

  const show = () => {
    const files = [...many.files];
    list.hidden = !files.length;
    drop.classList.toggle("has-file", files.length > 0);
    list.replaceChildren(
      ...files.map((file) => {
        const item = document.createElement("li");
        item.textContent = `${file.name}, ${size(file.size)}: ${titles[role(file)] ?? "by its columns"}`;
        return item;
      }),
    );
    say([]);
  };
  many.addEventListener("change", show);
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    const all = new DataTransfer();
    const dropped = [...event.dataTransfer.files];
    const names = new Set(dropped.map((file) => file.name));
    for (const file of many.files) if (!names.has(file.name)) all.items.add(file);
    for (const file of dropped) all.items.add(file);
    many.files = all.files;
    show();
  });

  const send = (url, body, progress) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", url);
      request.setRequestHeader("Accept", "application/json");
      request.setRequestHeader("X-CSRFToken", token);
      request.upload.addEventListener("progress", (step) => step.lengthComputable && progress(step.loaded));
      request.addEventListener("error", () => reject([ "The connection broke. Nothing was made; try again." ]));
      request.addEventListener("load", () => {
        let answer = {};
        try {
          answer = JSON.parse(request.responseText);
        } catch {
          // Not from the application: a proxy's page, for example.
        }
        if (request.status === 201) resolve(answer);
        else if (answer.errors?.length) reject(answer.errors.map((each) => each.message));
        else reject([answer.detail ?? `The server answered ${request.status}. Nothing was made; try again.`]);
      });
      request.send(body);
    });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!title.value.trim()) {
      say(["Give it a title."]);
      title.focus();
      return;
    }
    const chosen = [
      ...[...many.files].map((file) => ({ file, role: role(file), name: "files" })),
      ...singles.flatMap((name) => [...form.elements[name].files].map((file) => ({ file, role: name, name }))),
    ];
    // What is nobody's by its name may be the solution: it stays in memory, as that does.
    const early = chosen.filter((each) => each.role && each.role !== "solution");
    const total = chosen.reduce((sum, each) => sum + each.file.size, 0) || 1;
    let done = 0;
    const progress = (loaded) => {
      const sent = Math.min(total, done + loaded);
      bar.value = (sent / total) * 100;
      told.textContent = sent < total ? `${size(sent)} of ${size(total)}` : "Looking at the files …";
    };
    say([]);
    sending.hidden = false;
    button.disabled = true;
    try {
      const staged = [];
      for (const { file, role, name } of early) {
        if (!kept.has(key(file))) {
          const body = new FormData();
          body.append("file", file);
          kept.set(key(file), (await send(form.dataset.stage, body, progress)).id);
        }
        staged.push(name === "files" ? kept.get(key(file)) : `${kept.get(key(file))}:${role}`);
        done += file.size;
      }
      const body = new FormData();
      for (const [name, value] of new FormData(form)) {
        if (!(value instanceof File)) body.append(name, name === "staged" ? staged.join(" ") : value);
      }
      for (const each of chosen) if (!early.includes(each)) body.append(each.name, each.file);
      location.assign((await send(form.action, body, progress)).url);
    } catch (texts) {
      sending.hidden = true;
      button.disabled = false;
      say(Array.isArray(texts) ? texts : ["Something failed here. Nothing was made; try again."]);
    }
  });
})();
