"use strict";
(() => {
  const PRIOR_ROWS = 5; // as in robell/labels/reviewed.py
  const AHEAD = 40;
  const LINE = 44; // pixels of a line of the list, which a thumb can hit
  const COLUMNS = 12; // of a card, until all of them are asked for
  const WORDS = ["keep", "change", "drop"];
  const DONE = { keep: "kept", change: "changed", drop: "dropped", skip: "skipped" };
  const KEYS = [["K", "keep"], ["C", "change"], ["O", "choose another"], ["D", "drop"], ["S", "skip"], ["U", "undo"],
    ["\u2190 \u2192", "previous, next"], ["M", "note"]];

  // Every text goes in as text; nothing here ever becomes markup.
  function make(tag, about = {}, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...inside);
    return element;
  }
  const short = (text) => (text.length > 24 ? `${text.slice(0, 23)}\u2026` : text);
  const aside = (text) => make("bdi", {}, text); // whatever direction it is written in
  const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
  const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);
  const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  async function read(template) {
    const bytes = Uint8Array.from(atob(template.content.textContent.trim()), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // What equal labels have in common, as robell apply compares them: their number, or their letters.
  function folded(text) {
    const plain = text.trim().replace(/^'(?=[=+\-@])/, "");
    const point = /^[+-]?\d+,\d+$/.test(plain) ? plain.replace(",", ".") : plain; // as a spreadsheet may save it
    const isPlain = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(point) && point !== "-0"; // 007, 1e3 and +1 may be names
    if (!isPlain) return plain.toLowerCase().replace(/\s+/g, "").normalize("NFC");
    return (point.includes(".") ? point.replace(/\.?0+$/, "") : point).replace(/^-0$/, "0");
  }

  const spaced = (text) => text.replace(/\s+/g, " ").trim();
  // A number with a sign, a currency before it or a unit behind it; robell apply reads it strictly.
  const AMOUNT = /^\(?[+\u2212\u2013-]?\s?([A-Z]{0,3}\p{Sc}?|S?Fr\.?|Rs\.?|[Kk]r\.?)\s?[+\u2212\u2013-]?(\d[\d.,'\u2019\s]*|[.,]\d+)([eE][+-]?\d+)?\s?([^\d\s,;:()]{1,12}(\s[^\d\s,;:()]{1,12})?)?\)?$/u;
  const isNumber = (text) => AMOUNT.test(text.replace(/^'(?=[+-])/, ""));

  // -- decisions: kept by the browser, one entry a row, so that two tabs lose nothing ------------

  class Store {
    constructor(review) {
      this.prefix = `robell-review/${review.table}/${review.target.written}/`;
      this.sequence = 0;
      try {
        localStorage.setItem(`${this.prefix}?`, "");
        localStorage.removeItem(`${this.prefix}?`);
        this.works = true;
      } catch {
        this.works = false;
      }
    }

    load(take) {
      if (!this.works) return;
      const names = Object.keys(localStorage).filter((name) => name.startsWith(this.prefix));
      const found = names.map((name) => [name.slice(this.prefix.length), this.parse(localStorage.getItem(name))]);
      found.filter(([, made]) => made).sort(([, a], [, b]) => a.sequence - b.sequence).forEach(([id, made]) => {
        this.sequence = Math.max(this.sequence, made.sequence);
        take(id, made);
      });
      addEventListener("storage", ({ key, newValue }) => {
        if (!key?.startsWith(this.prefix)) return;
        const made = this.parse(newValue);
        this.sequence = Math.max(this.sequence, made?.sequence ?? 0);
        take(key.slice(this.prefix.length), made);
      });
    }

    parse(text) {
      try {
        const made = JSON.parse(text);
        return made && typeof made.word === "string" && Number.isFinite(made.sequence) ? made : null;
      } catch {
        return null;
      }
    }

    keep(id, made) {
      if (!this.works) return;
      try {
        if (made) localStorage.setItem(this.prefix + id, JSON.stringify(made));
        else localStorage.removeItem(this.prefix + id);
      } catch {
        this.works = false; // the browser's room is full
      }
    }
  }

  // -- decisions sent to the process that served the page, which writes them to a file ------------

  class Remote {
    constructor(review, desk) {
      Object.assign(this, { desk, version: review.version, first: review.made, waiting: new Map(), works: true, isBusy: false });
      this.sequence = 0;
    }

    load(take) {
      for (const [id, made] of this.first) {
        this.sequence = Math.max(this.sequence, made.sequence);
        take(id, made);
      }
      addEventListener("focus", () => this.send()); // another tab may have decided
    }

    keep(id, made) {
      this.waiting.set(id, made);
      this.send();
    }

    async send() {
      if (this.isBusy) return;
      this.isBusy = true;
      const sent = [...this.waiting];
      let answer = null;
      try {
        answer = await fetch("decisions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ after: this.version, made: sent }) });
        if (!answer.ok) throw new Error(await answer.text());
        const found = await answer.json();
        for (const [id, made] of sent) if (this.waiting.get(id) === made) this.waiting.delete(id);
        this.version = found.version;
        this.problem = null;
        for (const [id, made] of found.made) {
          this.sequence = Math.max(this.sequence, made?.sequence ?? 0);
          if (!this.waiting.has(id)) this.desk.take(id, made);
        }
        this.desk.reorder(found);
      } catch (error) {
        this.problem = answer ? error.message : "robell review has ended, or does not answer";
      }
      this.isBusy = false;
      this.works = !this.problem;
      this.desk.isSaved = !this.waiting.size;
      this.desk.showProgress();
      if (!this.problem && this.waiting.size) this.send();
    }
  }

  // -- CSV ---------------------------------------------------------------------------------------

  const quoted = (text) => (/[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function decoded(buffer) {
    const bytes = new Uint8Array(buffer);
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(buffer);
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(buffer);
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(buffer);
    } catch {
      return new TextDecoder("windows-1252").decode(buffer);
    }
  }

  // The rows of a CSV file, each with the line at which it begins.
  function parsed(text) {
    const header = text.slice(0, (text.search(/[\r\n]/) + 1 || text.length + 1) - 1);
    const mark = [",", ";", "\t"].map((sign) => [header.split(sign).length, sign]).sort(([a], [b]) => b - a)[0][1];
    const rows = [];
    let cells = [], cell = "", isQuoted = false, line = 1, first = 1;
    const end = () => {
      cells.push(cell);
      if (cells.length > 1 || cells[0].trim()) rows.push({ line: first, cells: cells.map((one) => one.trim()) });
      [cells, cell] = [[], ""];
    };
    for (let at = 0; at < text.length; at += 1) {
      const sign = text[at];
      if (sign === "\n") line += 1;
      if (isQuoted) {
        if (sign !== '"') cell += sign;
        else if (text[at + 1] === '"') { cell += '"'; at += 1; } else isQuoted = false;
      } else if (sign === '"' && !cell.trim()) [isQuoted, cell] = [true, ""];
      else if (sign === mark) { cells.push(cell); cell = ""; } else if (sign === "\n") { end(); first = line; } else if (sign !== "\r") cell += sign;
    }
    if (cell || cells.length) end();
    return rows;
  }

  // -- the review --------------------------------------------------------------------------------

  class Desk {
    constructor(box, review) {
      this.box = box;
      this.review = review;
      this.saved = box.dataset.table.replace(/-(audit|decisions)\.\w+$/, "") + "-decisions.csv";
      const n = review.cards;
      this.ids = review.print.map((print, k) => `${review.row[k]}-${print}`);
      this.at = new Map(this.ids.map((id, k) => [id, k]));
      this.made = new Array(n).fill(null); // what was decided on each row
      this.history = []; // [row, what was decided before], for undo
      this.others = new Map(); // lines of a loaded review whose rows are not on this page
      this.order = [...Array(n).keys()];
      this.current = this.order[0];
      this.isSaved = true;
      this.isWide = false; // whether all columns are shown
      this.store = review.server ? new Remote(review, this) : new Store(review);
      this.store.load((id, made) => this.take(id, made));
      this.build();
      this.current = null;
      this.reorder(review);
      this.current = this.nextOpen(-1) ?? this.order[0];
      this.show();
      this.say("");
    }

    text(name, k) { return this.review[name].texts[this.review[name].codes[k]]; }

    where(k) { return `${this.review.where} ${this.review.number[k]}`; }

    get place() { return this.order.indexOf(this.current); }

    // Take over what the browser has kept, or another tab has decided.
    take(id, made) {
      const k = this.at.get(id);
      if (k === undefined || (made && made.given !== this.text("given_written", k))) return;
      if (made) this.history.push([k, this.made[k]]);
      else this.history = this.history.filter(([one]) => one !== k);
      this.made[k] = made;
      if (this.list) this.show(false);
    }

    // -- what is decided

    decide(word, label = null) {
      const k = this.current;
      if (word === "change") {
        const text = (label ?? this.choice.value).trim();
        const known = this.review.classes.find((one) => one.written === text || one.shown === text);
        if (this.review.classes.length && !known) return this.say("Choose the label to change to.");
        if (!known && !isNumber(text)) return this.say(`${isolated(text || "Nothing")} is not a number; write the right one.`);
        if (folded(text) === folded(this.text("given_written", k))) return this.say("The row has this label already: keep it, or choose another.");
        label = known ? known.written : text;
      }
      this.history.push([k, this.made[k]]);
      this.put(k, { word, label, note: this.note.value.trim() });
      const next = this.nextOpen(this.place);
      if (next !== null) this.current = next;
      this.show();
      const done = `${this.where(k)} ${DONE[word]}${word === "change" ? ` to ${isolated(label)}` : ""}.`;
      return this.say(next === null ? `${done} Every row is decided: save the decisions.` : `${done} Now ${this.headline(next)}`);
    }

    put(k, made) {
      this.made[k] = made;
      if (made && !made.sequence) { // what undo brings back has its number
        this.store.sequence += 1;
        Object.assign(made, { given: this.text("given_written", k), sequence: this.store.sequence });
      }
      this.isSaved = false;
      this.store.keep(this.ids[k], made);
    }

    undo() {
      const last = this.history.pop();
      if (!last) return this.say("There is nothing to undo.");
      const [k, before] = last;
      this.put(k, before);
      this.current = k;
      this.show();
      return this.say(`Undone: ${this.headline(k)}`);
    }

    setNote() {
      const made = this.made[this.current], note = this.note.value.trim();
      if (made && made.note !== note) this.put(this.current, { ...made, note });
    }

    // Ask in another order: what is decided stays at the top, and the row that is shown is next.
    reorder({ order, doubt }) {
      if (!order) return;
      this.review.doubt = doubt;
      const isOpen = (k) => !this.made[k] && k !== this.current;
      const done = this.order.filter((k) => this.made[k]), last = order.filter(isOpen);
      const shown = this.current !== null && !this.made[this.current] ? [this.current] : [];
      const known = new Set([...done, ...shown, ...last]);
      this.order = [...done, ...shown, ...last, ...this.order.filter((k) => !known.has(k))];
      if (this.current !== null) this.show(false);
    }

    nextOpen(place) {
      const n = this.order.length;
      for (let step = 1; step <= n; step += 1) {
        const k = this.order[(place + step + n) % n];
        if (!this.made[k]) return k;
      }
      return null;
    }

    go(step) {
      const place = Math.min(Math.max(this.place + step, 0), this.order.length - 1);
      this.current = this.order[place];
      this.show();
      this.say(this.headline(this.current));
    }

    // Expected among the next rows, their odds corrected by what was found: see reviewed.py.
    expected() {
      const doubt = this.review.doubt, looked = [], left = [];
      let found = 0;
      this.made.forEach((made, k) => {
        if (!made || made.word === "skip") left.push(doubt[k]);
        else { looked.push(doubt[k]); found += made.word !== "keep"; }
      });
      const next = left.sort((a, b) => b - a).slice(0, AHEAD);
      if (this.review.server && this.review.order) { // which has corrected the chances itself
        return { ahead: next.length, wrong: next.reduce((total, p) => total + p, 0) };
      }
      const sum = (values, f) => values.reduce((total, p) => total + (f * p) / (1 - p + f * p), 0);
      let low = 1e-6, high = 1e6;
      for (let step = 0; step < 100; step += 1) {
        const f = Math.sqrt(low * high);
        if (found - sum(looked, f) - PRIOR_ROWS * (f - 1) > 0) low = f; else high = f;
      }
      return { ahead: next.length, wrong: sum(next, Math.sqrt(low * high)) };
    }

    // -- what is shown

    headline(k) {
      return `${this.where(k)}: ${isolated(this.text("given", k))}, perhaps ${isolated(this.text("suggested", k))}.`;
    }

    say(text) { this.status.textContent = text.replace(/^(line|row) /, (word) => word[0].toUpperCase() + word.slice(1)); }

    build() {
      const { review } = this;
      const button = (name, text, run, about = {}) => {
        const one = make("button", { type: "button", class: name, ...about }, text);
        one.addEventListener("click", run);
        return one;
      };
      this.status = make("p", { class: "said", role: "status" });
      this.bar = make("progress", { max: review.cards, "aria-label": "Rows decided" });
      this.counts = make("p", { class: "counts" });
      this.left = make("p", { class: "left" });
      this.whole = make("p", { class: "counts whole", hidden: !this.review.certified });
      this.kept = make("p", { class: "kept" });
      this.list = make("div", { class: "queue", role: "listbox", tabindex: 0, "aria-label": "Rows to check" });
      this.lines = make("div", { role: "presentation", class: "lines" });
      this.lines.style.height = `${LINE * this.order.length}px`;
      this.list.append(this.lines);
      this.listed = make("div", { class: "all" }, this.list);
      this.opener = button("open", "All rows", () => {
        const isOpen = this.listed.classList.toggle("shown");
        this.opener.setAttribute("aria-expanded", isOpen);
        this.showLines(true);
      }, { "aria-expanded": "false" });
      this.title = make("h3", { id: "review-title" });
      this.where_ = make("p", { class: "where" });
      this.why = make("ul", { class: "why" });
      this.cells = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The row beside others" });
      this.more = button("more-columns", "", () => { this.isWide = !this.isWide; this.showCells(); });
      this.note = make("input", { type: "text", maxlength: 300, id: "review-note", autocomplete: "off" });
      this.note.addEventListener("change", () => this.setNote());
      this.card = make("article", { class: "card", tabindex: -1, "aria-labelledby": "review-title" },
        this.where_, this.title, this.why, this.cells, this.more,
        make("p", { class: "note-line" }, make("label", { for: "review-note" }, "Note "), this.note));
      this.choice = review.classes.length
        ? make("select", { "aria-label": "Another label to change to", title: "Another label" }, ...review.classes.map((one) => make("option", { value: one.written }, isolated(one.shown))))
        : make("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": "Number to change to" });
      this.keepButton = button("keep", "", () => this.decide("keep"), { "aria-keyshortcuts": "k" });
      this.changeButton = button("change", "", () => this.decide("change"), { "aria-keyshortcuts": "c" });
      this.choice.addEventListener("change", () => this.showChoice());
      this.acts = make("div", { class: "acts", role: "group", "aria-label": "Decide" },
        this.keepButton,
        make("span", { class: `to ${review.classes.length ? "label" : "number"}` }, this.changeButton, this.choice),
        make("span", { class: "small" },
          button("drop", "Drop", () => this.decide("drop"), { "aria-keyshortcuts": "d" }),
          button("skip-row", "Skip", () => this.decide("skip"), { "aria-keyshortcuts": "s" }),
          button("undo", "Undo", () => this.undo(), { "aria-keyshortcuts": "u" }),
          button("back", "\u2190", () => this.go(-1), { "aria-label": "Previous row" }),
          button("on", "\u2192", () => this.go(1), { "aria-label": "Next row" })));
      this.file = make("input", { type: "file", accept: ".csv,.txt,text/csv", class: "sr", tabindex: -1, "aria-label": "A review to go on with" });
      this.file.addEventListener("change", () => this.load(this.file.files[0]));
      const files = make("div", { class: "files" },
        button("save", "Save the decisions", () => this.save()),
        button("load", "Load a review", () => this.file.click()), this.file);
      const keys = make("p", { class: "keys" }, "Keys, once a row or a button has the focus: ");
      KEYS.forEach(([key, text], k) => keys.append(k ? ", " : "", make("kbd", {}, key), ` ${text}`));
      this.box.replaceChildren(
        make("div", { class: "head" }, this.bar, this.counts, this.left, this.whole), this.status, this.opener,
        make("div", { class: "desk" }, this.listed, make("div", { class: "one" }, this.card, this.acts)),
        files, this.kept, keys);
      this.list.addEventListener("scroll", () => this.showLines(), { passive: true });
      this.list.addEventListener("click", (event) => {
        const line = event.target.closest("[role=option]");
        if (!line) return;
        this.current = Number(line.dataset.row);
        this.show();
        this.say(this.headline(this.current));
      });
      this.list.addEventListener("keydown", (event) => this.onList(event));
      this.box.addEventListener("keydown", (event) => this.onKey(event));
      addEventListener("beforeunload", (event) => { if (!this.store.works && !this.isSaved) event.preventDefault(); });
      new ResizeObserver(() => this.showLines()).observe(this.list);
    }

    onList(event) {
      const page = Math.max(1, Math.floor(this.list.clientHeight / LINE) - 1), n = this.order.length;
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -n, End: n }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.go(step);
    }

    onKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const { target, key } = event;
      if (target === this.choice || target === this.note) {
        if (key !== "Enter" && key !== "Escape") return;
        event.preventDefault();
        if (key === "Escape") target.blur();
        else if (target === this.choice) this.decide("change");
        else this.setNote();
        this.card.focus({ preventScroll: true });
        return;
      }
      const run = {
        k: () => this.decide("keep"), c: () => this.decide("change", this.text("suggested_written", this.current)),
        o: () => this.choice.focus(), d: () => this.decide("drop"), s: () => this.decide("skip"), u: () => this.undo(),
        m: () => this.note.focus(), n: () => this.go(1), p: () => this.go(-1), ArrowRight: () => this.go(1), ArrowLeft: () => this.go(-1),
      }[key.length === 1 ? key.toLowerCase() : key];
      const scrolls = key.startsWith("Arrow") && this.cells.scrollWidth > this.cells.clientWidth && target === this.cells;
      if (!run || scrolls) return;
      event.preventDefault();
      run();
    }

    // Show the current row; where the focus is in the card, it stays there.
    show(isMoved = true) {
      const k = this.current, { review } = this, made = this.made[k];
      const noun = review.kind === "numbers" ? "Given" : "Labelled";
      const chance = review.kind === "annotators" ? "sure" : "chance of being right";
      this.where_.replaceChildren(`${(this.place + 1).toLocaleString("en")} of ${this.order.length.toLocaleString("en")} \u00b7 ${this.where(k)} \u00b7 ${this.text("chance", k)} ${chance}`);
      if (made) this.where_.append(" \u00b7 ", make("strong", { class: made.word }, DONE[made.word]));
      this.title.replaceChildren(`${noun} `, make("bdi", { class: "given" }, this.text("given", k)),
        make("span", { class: "sr" }, ", perhaps "), make("span", { class: "arrow", "aria-hidden": "true" }, " \u2192 "),
        make("bdi", { class: "suggested" }, this.text("suggested", k)),
        make("span", { class: "range" }, review.range ? ` (${this.text("range", k)})` : ""));
      this.why.replaceChildren(...(review.reasons[k] ?? []).map(([, text]) => make("li", { dir: "auto" }, text)));
      this.why.hidden = !this.why.children.length;
      this.keepButton.replaceChildren("Keep ", aside(this.text("given", k)));
      this.choice.value = made?.word === "change" ? made.label : this.text("suggested_written", k);
      this.showChoice();
      this.note.value = made?.note ?? "";
      if (isMoved) this.showCells();
      this.showProgress();
      this.showLines(isMoved);
    }

    showChoice() {
      const known = this.review.classes.find((one) => one.written === this.choice.value);
      this.changeButton.replaceChildren("Change to", ...(known ? [" ", aside(known.shown)] : []));
    }

    showCells() {
      const k = this.current, { review } = this;
      const near = review.near[k], all = review.columns, from = review.from[k], to = review.to[k];
      const named = (review.reasons[k] ?? []).map(([name]) => name);
      const rank = (one) => (one.what === "key" ? -1 : named.includes(one.name) ? named.indexOf(one.name) : named.length + (one.what === "other"));
      const sorted = all.map((one, j) => [rank(one), j, one]).sort(([a, i], [b, j]) => a - b || i - j).map(([, , one]) => one);
      const columns = this.isWide ? sorted : sorted.slice(0, COLUMNS);
      const groups = from === to ? [from] : [from, to];
      const usual = review.kind === "numbers" ? "Usual where it is " : "Usual for ";
      const head = make("tr", {}, make("th", { scope: "col" }, "Column"), make("th", { scope: "col", class: "own" }, "This row"),
        ...groups.map((g) => make("th", { scope: "col" }, usual, aside(review.groups[g]))),
        ...near.map((row) => make("th", { scope: "col" }, `Similar, ${review.where} ${review.number[row]}: `, aside(this.text("given", row)))));
      const rows = columns.map((one) => {
        const cell = (row) => one.texts[one.codes[row]];
        const common = (g) => (one.shares ? `${one.shares[one.codes[k]][g]} have this` : one.usual ? one.usual[g] : "");
        return make("tr", { class: named.includes(one.name) ? "telling" : null },
          make("th", { scope: "row", dir: "auto" }, one.name),
          make("td", { class: "own" }, aside(cell(k) || "\u2013")), ...groups.map((g) => make("td", {}, common(g))),
          ...near.map((row) => make("td", { class: cell(row) === cell(k) ? "same" : null }, aside(cell(row) || "\u2013"))));
      });
      const table = make("table", {}, make("caption", { class: "sr" }, "The row, what is usual, and the most similar trusted rows"),
        make("thead", {}, head), make("tbody", {}, ...rows));
      this.cells.replaceChildren(table);
      const hidden = sorted.length - columns.length;
      const gone = review.left_out ? `${counted(review.left_out, "further column")} only in your file` : "";
      this.more.hidden = sorted.length <= COLUMNS && !gone;
      this.more.disabled = sorted.length <= COLUMNS;
      this.more.textContent = [hidden ? `Show ${counted(hidden, "further column")}` : sorted.length > COLUMNS ? "Show fewer columns" : "", gone].filter(Boolean).join("; ");
    }

    showProgress() {
      const counts = { keep: 0, change: 0, drop: 0, skip: 0 };
      for (const made of this.made) if (made) counts[made.word] += 1;
      const n = counts.keep + counts.change + counts.drop;
      this.bar.value = n;
      const some = Object.entries(counts).filter(([, count]) => count).map(([word, count]) => `${count.toLocaleString("en")} ${DONE[word]}`);
      this.counts.textContent = `${n.toLocaleString("en")} of ${this.made.length.toLocaleString("en")} decided${some.length ? `: ${some.join(", ")}` : ""}`;
      const { ahead, wrong } = this.expected();
      const about = Math.round(wrong);
      this.left.textContent = !ahead ? "Every row is decided."
        : wrong < 1 ? `Still expected: hardly any wrong among the next ${ahead}. You may stop here.`
          : `Still expected: about ${about} wrong among the next ${ahead}`;
      if (this.review.certified) {
        const [low, high] = this.review.certified; // wrong before the first decision: as true after any number of them
        const least = Math.max(0, low - counts.change - counts.drop), most = Math.max(0, high - counts.change);
        this.whole.textContent = `Still wrong in the whole table: ${least.toLocaleString("en")} to ${most.toLocaleString("en")} (95 % confidence, by its certificate)`;
      }
      const lost = this.store.problem
        ? `Not written: ${counted(this.store.waiting.size, "decision")} (${this.store.problem}). Save them before you close the page.`
        : "This browser keeps nothing: save the decisions before you close the page, and load them again to go on.";
      const own = this.review.server ? `Each decision is written at once, to ${this.saved}.` : "Decisions are kept in this browser until you save them.";
      this.kept.textContent = this.store.works ? own : lost;
      this.kept.classList.toggle("lost", !this.store.works);
    }

    // Make the lines of the list that are in sight, and no others.
    showLines(follow = false) {
      if (!this.list.clientHeight) return;
      const place = this.place, height = this.list.clientHeight;
      if (follow && (place * LINE < this.list.scrollTop || (place + 1) * LINE > this.list.scrollTop + height)) {
        this.list.scrollTop = place * LINE - height / 2;
      }
      const first = Math.max(0, Math.floor(this.list.scrollTop / LINE) - 5);
      const last = Math.min(this.order.length, first + Math.ceil(height / LINE) + 10);
      const shown = new Set([place]);
      for (let one = first; one < last; one += 1) shown.add(one);
      this.lines.replaceChildren(...[...shown].sort((a, b) => a - b).map((one) => {
        const k = this.order[one], word = this.made[k]?.word;
        const line = make("div", { role: "option", id: `review-${k}`, "data-row": k, "aria-selected": String(k === this.current), "aria-posinset": one + 1, "aria-setsize": this.order.length, class: word ?? null },
          make("span", { class: "number" }, this.where(k)),
          make("span", { class: "labels" }, aside(short(this.text("given", k))), " \u2192 ", aside(short(word === "change" ? this.made[k].label : this.text("suggested", k)))),
          make("span", { class: "state" }, word ? DONE[word] : ""));
        line.style.top = `${one * LINE}px`;
        return line;
      }));
      this.list.setAttribute("aria-activedescendant", `review-${this.current}`);
    }

    // -- files

    save() {
      const { review } = this, header = ["row", ...(review.where === "line" ? ["line"] : []), "given", "suggested", "decision", "note", "target", "fingerprint"];
      const lines = this.ids.map((id, k) => {
        const made = this.made[k], word = WORDS.includes(made?.word) ? made.word : "";
        const about = { row: review.row[k], line: review.number[k], given: this.text("given_written", k), decision: word,
          suggested: word === "change" ? made.label : this.text("suggested_written", k), note: made?.note ?? "",
          target: review.target.written, fingerprint: `${review.table}-${review.print[k]}` };
        return header.map((name) => about[name]);
      });
      for (const other of this.others.values()) lines.push(header.map((name) => other[name] ?? ""));
      const text = [header, ...lines].map((cells) => cells.map((cell) => quoted(String(cell).replace(/\s+/g, " "))).join(",")).join("\n");
      const link = make("a", { download: this.saved, href: URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      this.isSaved = true;
      const file = /^[\w.-]+$/.test(this.saved) ? this.saved : `'${this.saved.replaceAll("'", `'"'"'`)}'`;
      this.say(`Saved as ${this.saved}. Apply it with: ${[review.apply[0], file, review.apply[1]].join(" ")}`);
    }

    async load(file) {
      if (!file) return;
      this.file.value = "";
      try {
        this.say(this.takeFile(parsed(decoded(await file.arrayBuffer()).replace(/^\ufeff/, "")), isolated(file.name)));
      } catch (error) {
        this.say(`${isolated(file.name)}: ${error.message} Nothing was taken from it.`);
      }
      this.show();
    }

    // Check all of a review, then take it over, or nothing of it.
    takeFile([header, ...rows], name) {
      const place = new Map((header?.cells ?? []).map((cell, j) => [cell, j]));
      for (const needed of ["row", "given", "decision", "target", "fingerprint"]) {
        if (!place.has(needed)) throw new Error(`there is no column ${needed}, so this is no review.`);
      }
      const final = place.has("label") ? "label" : "suggested", found = [], seen = new Set();
      for (const { line, cells } of rows) {
        const cell = (column) => cells[place.get(column)] ?? "";
        const [table, print] = cell("fingerprint").split("-"), word = cell("decision").toLowerCase(), row = cell("row").replaceAll(",", "");
        if (spaced(cell("target")) !== spaced(this.review.target.written)) throw new Error(`line ${line}: this is a review of another column, ${isolated(cell("target"))}.`);
        if (table !== this.review.table) throw new Error(`line ${line}: this is a review of another table, or of another version of it.`);
        if (!/^[1-9]\d*$/.test(row)) throw new Error(`line ${line}: ${isolated(row)} is not the number of a row.`);
        if (seen.has(row)) throw new Error(`line ${line}: row ${row} stands there twice.`);
        seen.add(row);
        if (word && !WORDS.includes(word)) throw new Error(`line ${line}: the decision ${isolated(word)} is none of keep, change and drop.`);
        const k = this.at.get(`${row}-${print}`), label = cell(final);
        const { classes } = this.review;
        const known = classes.find((one) => one.written === label) ?? classes.find((one) => folded(one.written) === folded(label));
        if (word === "change") {
          const isLabel = this.review.classes.length ? known : isNumber(label);
          if (!isLabel) throw new Error(`line ${line}: ${isolated(label || "nothing")} is no ${this.review.classes.length ? "label of this table" : "number"} to change to.`);
        }
        if (k === undefined) {
          if (word) found.push([null, Object.fromEntries([...place].map(([column, j]) => [column, cells[j]]))]);
          continue;
        }
        if (folded(cell("given")) !== folded(this.text("given_written", k))) throw new Error(`line ${line}: row ${row} is labelled ${isolated(this.text("given", k))} by now, not ${isolated(cell("given"))}.`);
        if (word) found.push([k, { word, label: word === "change" ? known?.written ?? label : null, note: cell("note") }]);
      }
      const against = [];
      let taken = 0;
      for (const [k, made] of found) {
        if (k === null) { this.others.set(made.row, { ...made, suggested: made[final] }); continue; }
        const own = this.made[k];
        if (own && own.word !== "skip" && (own.word !== made.word || own.label !== made.label)) { against.push(this.where(k)); continue; }
        this.history.push([k, own]);
        this.put(k, made);
        taken += 1;
      }
      this.current = this.nextOpen(-1) ?? this.current;
      const others = this.others.size ? ` ${counted(this.others.size, "decision")} on rows that are not on this page will be saved with them.` : "";
      const differ = against.length ? ` ${counted(against.length, "row")} decided otherwise on this page stay so: ${against.slice(0, 5).join(", ")}${against.length > 5 ? ", ..." : ""}.` : "";
      return `${name}: ${counted(taken, "decision")} loaded.${others}${differ}`;
    }
  }

  addEventListener("DOMContentLoaded", async () => {
    const box = document.querySelector(".review");
    try {
      box.desk = new Desk(box, await read(document.querySelector("template.review-data")));
      performance.mark("first card");
    } catch (error) {
      box.replaceChildren(make("p", { role: "alert" }, `The rows cannot be shown here (${error.message}). A browser from 2023 or later can; the table beside this page lists them too.`));
    }
  });
})();
