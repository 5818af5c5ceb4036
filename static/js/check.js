// A worker that reads a chosen file as the server will, before anything is sent: header, cells and
// ids, in the server's words, whose catalogue comes with the facts. It stops at the first line that
// is wrong. What it can't read is left to the server.
const [TAB, LF, CR, SPACE, QUOTE, COMMA] = [9, 10, 13, 32, 34, 44];
const PARQUET = "50415231";
const PACKED = ["28b52ffd", "504b0304", "504b0506"]; // zstd and zip
const CELL = 131072; // characters; Python's csv takes no longer ones
const LINE = 1 << 22;
const HASHED = 256e6; // bytes; the digest needs the whole file in memory
const SAMPLE = 100e6;
const SUGGESTED = { ids: 5000, classes: 1000 };
const bytesOf = new TextEncoder();
const decode = (bytes) => new TextDecoder().decode(bytes);

/** What is wrong: a list of [code, facts]. */
class Wrong extends Error {
  constructor(problems) {
    super(problems[0][0]);
    this.problems = problems;
  }
}
/** Nobody knows: the server has to look. */
class Unsure extends Error {}
const isText = (bytes, stream) => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream });
    return true;
  } catch {
    return false;
  }
};
const fail = (code, facts = {}) => {
  throw new Wrong([[code, facts]]);
};

// --- Words: scoring/wording.py -----------------------------------------------------------------

const inBytes = (count) => {
  if (count < 1000) return count === 1 ? "1 byte" : `${count} bytes`;
  const units = ["TB", "GB", "MB", "kB"];
  let value = count / 1000;
  while (value >= 999.95 && units.length > 1) {
    value /= 1000;
    units.pop();
  }
  return `${value.toFixed(1).replace(/\.0$/, "")} ${units.at(-1)}`;
};

function fill(template, facts, phrases, otherwise = "") {
  const formats = {
    quoted: (text) => `'${text}'`,
    listed: (texts) => texts.map((each) => (each === null ? "…" : `'${each}'`)).join(", "),
    plain: (texts) => texts.map((each) => each ?? "…").join(","),
    numbers: (numbers) => numbers.map((each) => each ?? "…").join(", "),
    size: inBytes,
    phrase: (name) => phrases[name] ?? name,
  };
  const known = (text) => [...text.matchAll(/\{(\w+)/g)].every(([, name]) => facts[name] != null);
  const filled = (text) =>
    text.replace(/\{(\w+)(?::([^{}]*))?\}/g, (_, name, format = "") => {
      const value = facts[name];
      if (!format.includes("/")) return format ? formats[format](value) : value;
      const [one, several] = format.split("/");
      return (value === 1 ? one : several).replace("#", value);
    });
  let text = "";
  for (const [, plain, optional, instead] of template.matchAll(/([^[\]]+)|\[([^[\]|]*)\|?([^[\]]*)\]/g)) {
    if (known(plain ?? optional)) text += filled(plain ?? optional);
    else if (plain !== undefined) return otherwise;
    else text += fill(instead, facts, phrases);
  }
  return text;
}

const describe = ({ words, phrases }, code, facts) => {
  const known = words[code];
  const template = known.variants[facts.variant] ?? known.message;
  return facts.message ?? fill(template, facts, phrases, known.about);
};

const escaped = (c) => {
  const code = c.codePointAt(0);
  const named = { "\t": "\\t", "\n": "\\n", "\r": "\\r" }[c];
  const [mark, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
  return named ?? `\\${mark}${code.toString(16).padStart(digits, "0")}`;
};
/** A text from the file as it can be shown. */
const shortened = (text) => {
  const characters = [...text];
  const cut = characters.length <= 60 ? text : `${characters.slice(0, 60).join("")}…`;
  return cut.replace(/[\p{C}\p{Z}]/gu, (c) => (c === " " ? c : escaped(c)));
};
const columnsShown = (names) =>
  names.length <= 12 ? { columns: names } : { columns: [...names.slice(0, 5), null, names.at(-1)], total: names.length };

// --- The text that probably is meant: Python's difflib -------------------------------------------

function alike(one, other) {
  const matches = (a, b) => {
    let [best, endA, endB] = [0, 0, 0];
    let before = [];
    for (let i = 0; i < a.length; i++) {
      const here = [];
      for (let j = 0; j < b.length; j++) {
        if (a[i] !== b[j]) continue;
        here[j] = (before[j - 1] ?? 0) + 1;
        if (here[j] > best) [best, endA, endB] = [here[j], i + 1, j + 1];
      }
      before = here;
    }
    if (!best) return 0;
    const left = matches(a.slice(0, endA - best), b.slice(0, endB - best));
    return best + left + matches(a.slice(endA), b.slice(endB));
  };
  return (2 * matches([...one], [...other])) / ([...one].length + [...other].length || 1);
}

function nearest(text, names, cutoff) {
  let found = null;
  let best = cutoff;
  for (const name of names) {
    const folded = name.toLowerCase();
    const score = folded === text ? 1 : cutoff === 1 ? 0 : alike(folded, text);
    const isBetter = found === null || score > best || folded > found.toLowerCase();
    if (score >= best && isBetter) [found, best] = [name, score];
  }
  return found;
}

// --- Texts by their bytes ---------------------------------------------------------------------------

/** Millions of them without an object for each: their bytes, where each ends, and a table. */
class Texts {
  constructor() {
    this.length = 0;
    this.bytes = new Uint8Array(1 << 16);
    this.ends = new Uint32Array(1 << 12);
  }

  static of(texts) {
    const made = new Texts();
    for (const each of texts.map((text) => bytesOf.encode(text))) made.add(each, 0, each.length);
    return made;
  }

  add(source, start, end) {
    const used = this.ends[this.length];
    const size = used + end - start;
    if (size > this.bytes.length) this.bytes = grown(this.bytes, Math.max(size, 2 * this.bytes.length));
    if (this.length + 2 > this.ends.length) this.ends = grown(this.ends, 2 * this.ends.length);
    for (let i = start, to = used; i < end; i++, to++) this.bytes[to] = source[i];
    this.ends[++this.length] = size;
  }

  index() {
    let size = 16;
    while (size < 2 * this.length) size *= 2;
    this.table = new Int32Array(size);
    for (let row = 0; row < this.length; row++) {
      let place = this.hash(this.bytes, this.ends[row], this.ends[row + 1]);
      while (this.table[place]) place = (place + 1) & (size - 1);
      this.table[place] = row + 1;
    }
  }

  hash(source, start, end) {
    let hash = 0x811c9dc5;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ source[i], 0x01000193);
    // The last steps of MurmurHash3: ids that count up would otherwise crowd the table.
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) & (this.table.length - 1);
  }

  is(row, source, start, end) {
    let at = this.ends[row];
    if (this.ends[row + 1] - at !== end - start) return false;
    for (let i = start; i < end; i++) if (source[i] !== this.bytes[at++]) return false;
    return true;
  }

  /** The row of a text, -1 for none; `next` is where it is if the file has our order. */
  find(source, start, end, next = 0) {
    if (next < this.length && this.is(next, source, start, end)) return next;
    if (!this.table) this.index(); // not before: most files have our order
    let place = this.hash(source, start, end);
    for (let row; (row = this.table[place]); place = (place + 1) & (this.table.length - 1)) {
      if (this.is(row - 1, source, start, end)) return row - 1;
    }
    return -1;
  }

  has(text) {
    const bytes = bytesOf.encode(text);
    return this.find(bytes, 0, bytes.length) >= 0;
  }

  text(row) {
    return decode(this.bytes.subarray(this.ends[row], this.ends[row + 1]));
  }

  *[Symbol.iterator]() {
    for (let row = 0; row < this.length; row++) yield this.text(row);
  }
}

const grown = (array, length) => {
  const larger = new array.constructor(length);
  larger.set(array);
  return larger;
};

// --- From bytes to rows: csv.reader(strict=True) ------------------------------------------------------

/** Takes a text in parts, and hands out its records; `line` is the one that the record starts on. */
class Records {
  constructor(magic) {
    this.magic = Object.entries(magic);
    this.buffer = new Uint8Array(0);
    this.at = this.passed = this.bytes = this.handed = 0;
    this.isBroken = false;
    this.line = 1;
    this.utf8 = new TextDecoder("utf-8", { fatal: true });
    this.starts = [];
    this.ends = [];
  }

  /** Take another part up, and refuse what is no text. */
  take(part) {
    const rest = this.buffer.subarray(this.at);
    this.passed += this.at;
    this.buffer = new Uint8Array(rest.length + part.length);
    this.buffer.set(rest);
    this.buffer.set(part, rest.length);
    this.at = 0;
    if (!this.bytes) this.begin();
    this.bytes += part.length;
    const nul = this.buffer.indexOf(0, this.at);
    if (nul >= 0) this.refuseNul(nul);
    try {
      if (!this.isBroken) this.utf8.decode(part, { stream: true });
    } catch {
      this.isBroken = true; // but what is wrong with the header comes first
    }
  }

  end() {
    try {
      this.utf8.decode();
    } catch {
      this.refuseBytes();
    }
  }

  begin() {
    const head = this.buffer;
    const starts = (...bytes) => bytes.every((byte, place) => head[place] === byte);
    if (starts(0xff, 0xfe, 0, 0) || starts(0, 0, 0xfe, 0xff)) fail("not_utf8", { variant: "encoding", value: "UTF-32" });
    if (starts(0xff, 0xfe) || starts(0xfe, 0xff)) fail("not_utf8", { variant: "encoding", value: "UTF-16" });
    const hex = [...head.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (hex.startsWith(PARQUET)) throw new Unsure();
    const known = this.magic.find(([beginning]) => hex.startsWith(beginning));
    if (known) fail("binary_file", { value: known[1] });
    if (starts(0xef, 0xbb, 0xbf)) this.buffer = head.subarray(3);
    if (/^\s*\{/.test(decode(this.buffer.subarray(0, 1000)))) throw new Unsure(); // a log of a language model
    if (/^\s*\[\s*\{\s*"/.test(decode(this.buffer.subarray(0, 1000)))) fail("not_csv", { line: 1, value: "JSON" });
  }

  refuseNul(place) {
    const zero = [0, 1, 2, 3].map((from) => this.buffer.subarray(0, 200).every((byte, i) => i % 4 !== from || !byte));
    const pattern = this.passed ? "" : zero.map(Number).join("");
    const encoding = { "0111": "UTF-32", 1110: "UTF-32", "0101": "UTF-16", 1010: "UTF-16" }[pattern];
    if (encoding) fail("not_utf8", { variant: "encoding", value: encoding });
    fail("binary_file", { variant: "nul", line: this.lineOf(place), byte: this.passed + place + 1 });
  }

  /** Name the first byte that isn't UTF-8. */
  refuseBytes() {
    const text = this.buffer;
    const good = (end, stream) => isText(text.subarray(0, end), stream);
    let [low, high] = [0, text.length + 1]; // good so far, and wrong
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (good(middle, true)) low = middle;
      else high = middle;
    }
    // The last byte is wrong by itself, or after the beginning of a character.
    let place = low;
    if (!good(low, false)) do place--; while (text[place] >= 0x80 && text[place] < 0xc0);
    const looks = new TextDecoder("windows-1252").decode(text.subarray(place, place + 1));
    const value = `0x${text[place].toString(16).toUpperCase().padStart(2, "0")}`;
    const shown = /[\p{C}\p{Z}]/u.test(looks) ? null : looks;
    fail("not_utf8", { line: this.lineOf(place), value, byte: this.passed + place + 1, looks: shown });
  }

  lineOf(place) {
    let line = this.line;
    for (let i = this.at; i < place; i++) {
      if (this.buffer[i] === LF || (this.buffer[i] === CR && this.buffer[i + 1] !== LF)) line++;
    }
    return line;
  }

  /** Go on to the next record: its cells lie from `starts` to `ends`. False where more is needed. */
  next(isLast) {
    const { buffer, starts, ends } = this;
    const used = buffer.length;
    let i = this.at;
    this.line += this.lines ?? 0; // of the record before
    this.lines = 0;
    while (i < used && (buffer[i] === LF || buffer[i] === CR)) {
      if (buffer[i] === CR && i + 1 >= used && !isLast) break;
      i += buffer[i] === CR && buffer[i + 1] === LF ? 2 : 1;
      this.line++;
    }
    this.at = i;
    if (this.isBroken && (this.handed || isLast)) this.refuseBytes();
    if (i >= used) return false;
    this.count = 0;
    this.unquote = null;
    let lines = 0;
    for (;;) {
      let start = i;
      if (i < used && buffer[i] === QUOTE) {
        start = ++i;
        let doubled = false;
        for (; ; i++) {
          if (i >= used) return this.wait(isLast, start, i, lines, true);
          const c = buffer[i];
          if (c === QUOTE) {
            if (i + 1 >= used && !isLast) return false;
            if (buffer[i + 1] !== QUOTE) break;
            doubled = true;
            i++;
          } else if (c === LF || (c === CR && buffer[i + 1] !== LF)) lines++;
        }
        ends[this.count] = i++;
        if (doubled) (this.unquote ??= []).push(this.count);
        if (i < used && buffer[i] !== COMMA && buffer[i] !== LF && buffer[i] !== CR) fail("broken_quotes", { line: this.line });
        if (i >= used && !isLast) return false;
      } else {
        while (i < used && buffer[i] !== COMMA && buffer[i] !== LF && buffer[i] !== CR) i++;
        if (i >= used && !isLast) return this.wait(isLast, start, i, lines, false);
        ends[this.count] = i;
      }
      if (ends[this.count] - start > CELL) this.measure(start, ends[this.count], lines);
      starts[this.count++] = start;
      if (i >= used) break;
      if (buffer[i] === COMMA) {
        i++;
        continue;
      }
      if (buffer[i] === CR && i + 1 >= used && !isLast) return false;
      i += buffer[i] === CR && buffer[i + 1] === LF ? 2 : 1;
      lines++;
      break;
    }
    if (this.isBroken && !isText(buffer.subarray(0, i), false)) this.refuseBytes();
    this.handed++;
    this.lines = lines;
    this.at = i;
    for (const cell of this.unquote ?? []) this.halve(cell);
    return true;
  }

  wait(isLast, start, end, lines, quoted) {
    if (isLast && quoted) fail("broken_quotes", { line: this.line });
    if (end - start > CELL) this.measure(start, end, lines);
    if (!lines && end - this.at > 4 * LINE) fail("line_too_long", { line: this.line, limit: LINE });
    return false;
  }

  /** Refuse a cell that is too long, in characters. */
  measure(start, end, lines) {
    let characters = 0;
    for (let i = start; i < end; i++) if ((this.buffer[i] & 0xc0) !== 0x80) characters++;
    if (characters <= CELL) return;
    if (lines) fail("broken_quotes", { line: this.line });
    fail("cell_too_long", { variant: "csv", line: this.line, limit: CELL });
  }

  /** Make one of each two quotes in a cell. */
  halve(cell) {
    let to = this.starts[cell];
    for (let i = to; i < this.ends[cell]; i++) {
      this.buffer[to++] = this.buffer[i];
      if (this.buffer[i] === QUOTE) i++;
    }
    this.ends[cell] = to;
  }

  cell(place) {
    return decode(this.buffer.subarray(this.starts[place], this.ends[place]));
  }

  cells(most = Infinity) {
    return Array.from({ length: Math.min(this.count, most) }, (_, place) => this.cell(place));
  }
}

// --- Header: scoring/predictions/header.py -------------------------------------------------------------

function checkHeader(records, facts) {
  const { header: expected, limits } = facts;
  const line = records.line;
  if (records.count > limits.max_columns) fail("too_many_columns", { line, count: records.count, limit: limits.max_columns });
  const cells = records.cells();
  const columns = columnsShown(expected);
  if (cells.length === expected.length && expected.every((name) => cells.includes(name))) return expected.map((name) => cells.indexOf(name));
  const start = cells.join(",").slice(0, 200).trimStart().toLowerCase();
  if (/^(<!doctype|<html|<\?xml|\{|\[)/.test(start)) fail("not_csv", { line, value: start[0] === "<" ? "HTML" : "JSON" });
  const plain = cells.map((cell) => cell.trim());
  for (const delimiter of ";\t| ") {
    const parts = cells[0].split(delimiter).map((part) => part.trim().replace(/^"+|"+$/g, ""));
    if (cells.length === 1 && parts.length > 1 && parts.some((part) => expected.includes(part))) {
      fail("wrong_delimiter", { line, value: shortened(cells[0]), delimiter, ...columns });
    }
  }
  const folded = expected.map((name) => name.toLowerCase());
  const isNumber = (cell) => /^[+-]?([0-9.]+(e[+-]?[0-9]+)?|inf(inity)?|nan)$/i.test(cell);
  if (cells.length === expected.length && !plain.some((cell) => folded.includes(cell.toLowerCase())) && plain.some(isNumber)) {
    fail("header_missing", { line, value: shortened(plain.join(",")), ...columns });
  }
  const problems = [];
  let missing = expected.filter((name) => !cells.includes(name));
  for (const name of new Set(cells)) {
    const value = shortened(name);
    const count = cells.filter((cell) => cell === name).length;
    const text = name.trim().replace(/^["']+|["']+$/g, "").toLowerCase().slice(0, 200);
    const meant = missing.find((each) => each.toLowerCase() === text) ?? nearest(text, missing, 0.6);
    if (expected.includes(name)) {
      if (count > 1) problems.push(["duplicate_column", { line, column: name, value: name, count }]);
    } else if (meant) {
      missing = missing.filter((each) => each !== meant);
      const hint = name.trim() === meant ? "spaces" : name.toLowerCase() === meant.toLowerCase() ? "case" : null;
      problems.push(["misspelt_column", { line, column: meant, value, hint }]);
    } else {
      const unnamed = !name.trim() || name.startsWith("Unnamed:");
      const variant = unnamed ? { variant: "unnamed", position: cells.indexOf(name) + 1 } : {};
      problems.push(["extra_column", { line, column: value, value, ...columns, ...variant }]);
    }
  }
  for (const name of missing) problems.push(["missing_column", { line, column: name, ...columns }]);
  throw new Wrong(problems);
}

// --- Cells: scoring/predictions/cells.py -----------------------------------------------------------------

/** Whether a cell is a number, 2 if only its value can tell whether it is good. */
function looksLikeNumber(bytes, start, end) {
  let i = start;
  while (i < end && (bytes[i] === SPACE || bytes[i] === TAB)) i++;
  while (end > i && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
  let doubt = bytes[i] === 45 || end - i > 300;
  if (i < end && (bytes[i] === 43 || bytes[i] === 45)) i++;
  let digits = 0;
  for (; i < end && bytes[i] >= 48 && bytes[i] <= 57; i++, digits++) if (bytes[i] > 48) doubt = true;
  if (i < end && bytes[i] === 46) for (i++; i < end && bytes[i] >= 48 && bytes[i] <= 57; i++) digits++;
  if (!digits) return 0;
  if (i < end && (bytes[i] | 32) === 101) {
    doubt = true;
    i++;
    if (i < end && (bytes[i] === 43 || bytes[i] === 45)) i++;
    const first = i;
    while (i < end && bytes[i] >= 48 && bytes[i] <= 57) i++;
    if (i === first) return 0;
  }
  return i < end ? 0 : doubt ? 2 : 1;
}

const MISSING = new Set(["nan", "na", "n/a", "#n/a", "null", "none", "nil", "<na>", "nat", "-", "?"]);

function notANumber(text) {
  const plain = text.trim();
  const low = plain.toLowerCase();
  if (!plain) return ["empty_cell"];
  if (MISSING.has(low)) return ["missing_value"];
  if (/^[+-]*(inf|infinity)$/.test(low)) return ["infinite"];
  if (/^[+-]?[1-9][0-9]{0,2}([,' \u00a0\u2009\u202f_][0-9]{3})+(\.[0-9]*)?$/.test(plain)) {
    return ["thousands_separator", { meant: shortened(plain.replace(/[^0-9.+-]/g, "")) }];
  }
  if (/^[+-]?[0-9]+,[0-9]+$/.test(plain)) return ["decimal_comma", { meant: shortened(plain.replace(",", ".")) }];
  return ["not_a_number", { hint: plain.endsWith("%") ? "percent" : null }];
}

function wrongLabel(label, classes) {
  const plain = label.trim();
  const folded = plain.toLowerCase();
  if (!plain) return ["empty_cell"];
  const number = /^[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$/.test(plain) && plain.length <= 30 ? Number(plain) : NaN;
  let meant = null;
  if (classes.has(plain)) meant = plain;
  else if (Number.isSafeInteger(number) && classes.has(`${number}`)) meant = `${number}`;
  else {
    const names = [...classes];
    meant = names.findLast((name) => name.toLowerCase() === folded) ?? null;
    const few = names.length <= SUGGESTED.classes && plain.length >= 3;
    if (!meant && few) meant = nearest(folded.slice(0, 100), names, 0.75);
  }
  return ["unknown_label", { meant, value: label }];
}

function wrongList(text, column, classes) {
  const labels = text.split(column.separator).map((part) => part.trim()).filter(Boolean);
  if (!labels.length && column.kind === "ranking") return ["empty_cell"];
  const unknown = labels.find((label) => !classes.has(label));
  const plain = text.trim();
  if (unknown && ["[]", "()", "{}"].includes(plain[0] + plain.at(-1))) return ["unknown_label", { value: plain, variant: "python" }];
  if (unknown) return wrongLabel(unknown, classes);
  const twice = labels.find((label, place) => labels.lastIndexOf(label) > place);
  if (twice) return ["duplicate_label", { value: twice }];
  if (labels.length > (column.most ?? classes.length)) return ["too_many_labels", { count: labels.length }];
  return null;
}

/** A function from a cell to what is wrong with it: null, or a code and facts. */
function checkOf(column) {
  if (column.kind === "label") {
    const classes = Texts.of(column.classes);
    return (bytes, start, end) => (classes.find(bytes, start, end) >= 0 ? null : wrongLabel(decode(bytes.subarray(start, end)), classes));
  }
  if (column.classes) {
    const classes = Texts.of(column.classes);
    return (bytes, start, end) => wrongList(decode(bytes.subarray(start, end)), column, classes);
  }
  const isProbability = column.kind === "probability";
  return (bytes, start, end) => {
    const looks = looksLikeNumber(bytes, start, end);
    if (looks === 1) return null;
    const text = decode(bytes.subarray(start, end));
    if (!looks) return notANumber(text);
    const value = Number(text);
    if (!Number.isFinite(value)) return ["number_too_large"];
    return isProbability && !(value >= 0 && value <= 1) ? ["probability_out_of_range"] : null;
  };
}

// --- Ids: scoring/predictions/ids.py -----------------------------------------------------------------------

class Ids {
  constructor(texts, column) {
    this.texts = texts;
    this.column = column;
    this.lines = new Int32Array(texts.length);
    this.next = 0;
    // Compared as numbers if all are written as integers are.
    this.areIntegers = true;
    for (let row = 0; row < texts.length && this.areIntegers; row++) {
      const first = texts.bytes[texts.ends[row]]; // most ids that are none show it here
      this.areIntegers = (first === 45 || (first >= 48 && first < 58)) && /^(0|-?[1-9][0-9]{0,17})$/.test(texts.text(row));
    }
  }

  row(bytes, start, end) {
    const row = this.texts.find(bytes, start, end, this.next);
    if (row >= 0 || !this.areIntegers) return row;
    const found = /^[ \t]*(?:\+|(-))?0*([0-9]+)[ \t]*$/.exec(decode(bytes.subarray(start, end)));
    if (!found) return -1;
    const plain = bytesOf.encode(`${found[1] ?? ""}${found[2]}`.replace(/^-0$/, "0"));
    return this.texts.find(plain, 0, plain.length);
  }

  check(records, place) {
    const { line, buffer, starts, ends } = records;
    const row = this.row(buffer, starts[place], ends[place]);
    if (row < 0) return this.unknown(records.cell(place), line);
    if (this.lines[row]) fail("duplicate_id", { line, column: this.column, value: shortened(this.texts.text(row)), first: this.lines[row] });
    this.lines[row] = line;
    this.next = row + 1;
  }

  unknown(text, line) {
    if (!text.trim()) fail("empty_id", { line, column: this.column, value: "" });
    const meant = this.meant(text);
    const hint = text.trim() === meant ? "id_spaces" : null;
    fail("unknown_id", { line, column: this.column, hint, value: shortened(text), meant: meant && shortened(meant) });
  }

  meant(text) {
    const plain = text.trim();
    const number = /^\+?(-?)0*([0-9]{1,18})(\.0*)?$/.exec(plain);
    const exact = [plain, ...(number ? [number[1] + number[2]] : [])].find((each) => each !== text && this.texts.has(each));
    if (exact || this.texts.length > SUGGESTED.ids) return exact ?? null;
    return nearest(plain.toLowerCase().slice(0, 100), this.texts, text.length > 3 ? 0.75 : 1);
  }

  checkMissing() {
    const missing = [];
    let count = 0;
    for (let row = 0; row < this.lines.length; row++) {
      if (!this.lines[row] && ++count <= 5) missing.push(shortened(this.texts.text(row)));
    }
    if (!count) return;
    const ids = count > missing.length ? [...missing, null] : missing;
    fail("missing_id", { column: this.column, value: missing[0], count, rows: this.lines.length, ids });
  }
}

// --- A file ----------------------------------------------------------------------------------------------------

/** The text of a file in parts; gzip is unpacked. Unsure of other archives and of damaged ones. */
async function* textOf(stream, size, facts) {
  const [head, whole] = stream.tee();
  const reader = head.getReader();
  const { value: first = new Uint8Array(0) } = await reader.read();
  reader.cancel();
  const hex = [...first.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const isGzip = hex.startsWith("1f8b");
  if (!isGzip && PACKED.some((each) => hex.startsWith(each))) throw new Unsure();
  if (isGzip && typeof DecompressionStream === "undefined") throw new Unsure();
  const parts = (isGzip ? whole.pipeThrough(new DecompressionStream("gzip")) : whole).getReader();
  const { max_expanded_bytes, max_ratio } = facts.limits;
  for (let expanded = 0; ; ) {
    // Several members in a row end here too: only the server can tell.
    const { value, done } = await parts.read().catch(() => {
      throw new Unsure();
    });
    if (done) return;
    expanded += value.length;
    if (isGzip && expanded > max_expanded_bytes) fail("too_many_bytes", { variant: "expanded", limit: max_expanded_bytes });
    if (isGzip && expanded > Math.max(max_ratio * size, 1e6)) fail("expands_too_much", { limit: max_ratio });
    yield value;
  }
}

/** Hand each record to `each`; the first one is the header. */
async function readRecords(stream, size, facts, each) {
  const records = new Records(facts.magic);
  for await (const part of textOf(stream, size, facts)) {
    records.take(part);
    while (records.next(false)) each(records);
  }
  records.end();
  while (records.next(true)) each(records);
}

async function readIds(facts) {
  if (!facts.sample || facts.sample.size > SAMPLE) return null;
  const answer = await fetch(facts.sample.url, { credentials: "same-origin" });
  if (!answer.ok) return null;
  const texts = new Texts();
  let place = -1;
  try {
    await readRecords(answer.body, facts.sample.size, facts, (records) => {
      if (place < 0) place = records.cells().indexOf(facts.header[0]);
      else if (place < records.count) texts.add(records.buffer, records.starts[place], records.ends[place]);
    });
  } catch {
    return null; // Parquet, for example: the ids are compared on the server.
  }
  return texts.length ? new Ids(texts, facts.header[0]) : null;
}

async function checkFile(file, facts) {
  if (file.size < 1e4 && !(await file.text()).trim()) fail("file_empty");
  const ids = await readIds(facts);
  const mostRows = Math.min(facts.limits.max_rows, ids ? 2 * ids.lines.length + 1000 : Infinity);
  if (facts.columns.some((column) => column.kind === "text")) throw new Unsure();
  const columns = facts.columns.map((column) => ({ ...column, check: checkOf(column) }));
  let places = null;
  let rows = 0;
  let told = performance.now();
  const started = told;
  const row = (records) => {
    const { line, buffer, starts, ends } = records;
    if (++rows > mostRows) fail("too_many_rows", { line, limit: mostRows });
    if (records.count !== facts.header.length) {
      const cells = records.cells(20);
      const last = [records.cell(records.count - 1), records.count > 1 ? records.cell(records.count - 2) : ""];
      const hint = records.count > facts.header.length && last.every((cell) => /^\d+$/.test(cell.trim())) ? "comma" : null;
      fail("ragged_row", { line, value: shortened(cells.join(",")), hint, count: records.count, width: facts.header.length });
    }
    for (let each = 0; each < columns.length; each++) {
      const place = places[each + 1];
      const wrong = columns[each].check(buffer, starts[place], ends[place]);
      if (wrong) refuseCell(columns[each], wrong, records.cell(place), line, facts.limits.max_cell_length);
    }
    if (ids) ids.check(records, places[0]);
    else if (starts[places[0]] === ends[places[0]]) fail("empty_id", { line, column: facts.header[0], value: "" });
    if (rows % 4096 === 0 && performance.now() - told > 200) {
      told = performance.now();
      postMessage({ rows, seconds: (told - started) / 1000 });
    }
  };
  await readRecords(file.stream(), file.size, facts, (records) => {
    if (places) row(records);
    else places = checkHeader(records, facts);
  });
  if (!places) fail("file_empty");
  if (!rows) fail("no_rows");
  ids?.checkMissing();
  return { rows, ids: Boolean(ids), seconds: (performance.now() - started) / 1000 };
}

function refuseCell(column, [code, found = {}], text, line, limit) {
  const length = [...text].length;
  const facts = { kind: column.kind, line, column: column.name, ...column.facts, expected: column.expected };
  if (length > limit && column.kind !== "labels" && column.kind !== "ranking") {
    fail("cell_too_long", { ...facts, value: shortened(text), length, limit });
  }
  const meant = found.meant == null ? null : found.meant;
  fail(code, { ...facts, ...found, meant, value: shortened(found.value ?? text) });
}

async function sameAs(file, facts) {
  if (file.size > HASHED || !crypto.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return facts.digests[hex] ?? null;
}

const report = async (work) => {
  const { file, url } = work;
  const answer = await fetch(url, { credentials: "same-origin", headers: { Accept: "application/json" } });
  if (!answer.ok) return {};
  const facts = await answer.json();
  postMessage({ same: await sameAs(file, facts) });
  try {
    return { good: await checkFile(file, facts) };
  } catch (error) {
    if (error instanceof Unsure) return { isForServer: true };
    if (!(error instanceof Wrong)) throw error;
    return { problems: error.problems.slice(0, 10).map(([code, fields]) => describe(facts, code, fields)) };
  }
};

addEventListener("message", async ({ data }) => {
  const started = performance.now();
  const answer = await report(data).catch(() => ({}));
  postMessage({ ...answer, done: true, took: (performance.now() - started) / 1000 });
});
