"use strict";
(() => {
  const root = document.documentElement;
  const KEY = "robell-page-theme";
  const LONG_TABLE = 12; // rows from which a table gets a filter box

  // A page opened from a file may have no storage; the choice then lasts as long as the page.
  const recall = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* as above */ } };

  const chosen = recall();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;

  function setUpTheme(button) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const label = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    label();
    button.hidden = false;
  }

  // A key is a number, a text, or null for a missing value.
  function keyOf(cell) {
    if (cell.dataset.sort === undefined) return cell.textContent;
    return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  }

  const collator = new Intl.Collator(undefined, { numeric: true });
  // Texts that begin with a number, such as "-3" and "1,200 to 1,500", are compared by it first.
  const leading = (text) => parseFloat(text.replace(/(\d),(?=\d{3})/g, "$1").replace(/^\s*\u2212/, "-"));
  const compareTexts = (a, b) => leading(a) - leading(b) || collator.compare(a, b);
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b || 0 : compareTexts(a, b));
  }

  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

  function setUpSorting(table) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const headers = [...table.tHead.rows[0].cells];
    const sortBy = (header, column) => {
      const order = NEXT[header.getAttribute("aria-sort")];
      for (const other of headers) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      let rows = original;
      if (order !== "none") {
        const sign = order === "ascending" ? 1 : -1;
        rows = original
          .map((row) => [keyOf(row.cells[column]), row])
          .sort(([a], [b]) => compare(a, b, sign))
          .map(([, row]) => row);
      }
      body.append(...rows);
    };
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sortBy(header, column));
    });
  }

  function setUpFilter(table) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < LONG_TABLE) return;
    const box = document.createElement("div");
    box.className = "filter";
    const label = document.createElement("label");
    label.textContent = "Filter rows ";
    const input = document.createElement("input");
    input.type = "search";
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    label.append(input);
    box.append(label, count);
    table.closest(".scroll").before(box);
    const isText = (cell, place) => place === 0 || cell.dataset.sort === undefined;
    const textOf = (row) => [...row.cells].filter(isText).map((cell) => cell.textContent).join(" ");
    const texts = rows.map((row) => textOf(row).toLowerCase());
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
      });
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
  }

  function setUpContents() {
    const links = new Map();
    for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
    const inView = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) inView.add(target.id); else inView.delete(target.id);
      }
      const current = [...links.keys()].find((id) => inView.has(id));
      for (const [id, link] of links) {
        if (id === current) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
    }, { rootMargin: "0px 0px -60% 0px" });
    for (const id of links.keys()) observer.observe(document.getElementById(id));
  }

  // What is wider than the screen says so, and fades at the side where there is more.
  function setUpSideways(box) {
    const figure = box.closest("figure");
    const look = () => {
      const hidden = box.scrollWidth - box.clientWidth;
      figure.classList.toggle("wide", hidden > 4);
      // The arrow keys scroll what has the focus; a picture that fits needs none.
      if (box.matches(".canvas")) { if (hidden > 4) box.tabIndex = 0; else box.removeAttribute("tabindex"); }
      box.classList.toggle("more", hidden - Math.abs(box.scrollLeft) > 4);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    look();
  }

  // Paper cannot be unfolded.
  function setUpPrinting() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not([open])")];
      for (const details of opened) details.open = true;
    });
    addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
  }

  document.addEventListener("DOMContentLoaded", () => {
    setUpTheme(document.querySelector(".theme"));
    for (const table of document.querySelectorAll("figure.table table")) {
      setUpSorting(table);
      setUpFilter(table);
    }
    for (const box of document.querySelectorAll("figure .scroll, figure .canvas")) setUpSideways(box);
    setUpContents();
    setUpPrinting();
  });
})();
