// What the page does beyond plain forms: it hears of changes, keeps what is being typed, and takes keys.
"use strict";

(() => {
  const STALE_MS = 40000;
  const body = document.body;
  const stale = document.getElementById("stale");
  let heard = Date.now();

  function connect() {
    const address = body.dataset.live;
    if (!address || !window.EventSource) return;
    const source = new EventSource(address);
    const alive = () => {
      heard = Date.now();
      stale.hidden = true;
    };
    source.addEventListener("open", alive);
    source.addEventListener("beat", alive);
    for (const topic of ["dialogs", "sessions", "history"]) {
      source.addEventListener(topic, () => {
        alive();
        body.dispatchEvent(new CustomEvent("hookrouter:" + topic));
      });
    }
    source.addEventListener("error", () => {
      stale.hidden = false;
      // A browser gives up for good if the answer was an error; it is tried again.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  }

  function words(seconds) {
    if (seconds < 60) return Math.floor(seconds) + " s";
    if (seconds < 3600) return Math.floor(seconds / 60) + " min";
    if (seconds < 86400) return Math.floor(seconds / 3600) + " h";
    return Math.floor(seconds / 86400) + " d";
  }

  setInterval(() => {
    if (body.dataset.live && Date.now() - heard > STALE_MS) stale.hidden = false;
    for (const one of document.querySelectorAll("time[data-age]")) {
      const then = Date.parse(one.dateTime);
      if (!Number.isNaN(then)) one.textContent = words(Math.max(0, (Date.now() - then) / 1000));
    }
  }, 5000);

  // What somebody has typed into a question that is answered elsewhere is kept where they see it.
  function keepTyped(list, arriving) {
    const parsed = new DOMParser().parseFromString(arriving, "text/html");
    const results = document.getElementById("results");
    for (const card of list.querySelectorAll("article.card")) {
      if (parsed.getElementById(card.id)) continue;
      const typed = [...card.querySelectorAll("textarea")].map((one) => one.value.trim()).filter(Boolean);
      if (!typed.length || results.querySelector('[data-key="' + card.dataset.key + '"]')) continue;
      const notice = document.createElement("section");
      notice.className = "notice";
      const head = document.createElement("h2");
      head.textContent = "Not open any more: " + card.dataset.session;
      const text = document.createElement("p");
      text.textContent = "You had typed:";
      const kept = document.createElement("pre");
      kept.textContent = typed.join("\n\n");
      const link = document.createElement("a");
      link.href = "/waiting/" + card.dataset.key;
      link.textContent = "What came of it";
      notice.append(head, text, kept, link);
      results.append(notice);
    }
  }

  body.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    // What was refused says why, and is shown like all else; a login that is over has the whole page say so.
    if (event.detail.xhr.status === 401) {
      window.location.reload();
    } else if (event.detail.xhr.status >= 400 && target && target.id !== "list") {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    if (target && target.id === "list") keepTyped(target, event.detail.serverResponse);
  });

  body.addEventListener("htmx:afterSettle", (event) => {
    const target = event.detail.target;
    const wanted = target && target.querySelector && target.id !== "list" && target.querySelector("[data-focus]");
    if (wanted) {
      const send = wanted.querySelector("button.send");
      (send || wanted).focus();
      wanted.scrollIntoView({ block: "nearest" });
    }
    const only = document.getElementById("single");
    if (only && target && target.id === "results") only.remove();
  });

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    body.addEventListener(name, () => {
      stale.hidden = false;
    });
  }

  // Another choice than the one that is shown for sending: it has to be shown anew.
  body.addEventListener("input", (event) => {
    const form = event.target.closest && event.target.closest("article.card form");
    if (!form) return;
    form.querySelector(".next").replaceChildren();
    if (event.target.matches("[data-own-text]") && event.target.value) {
      const own = event.target.closest("fieldset").querySelector("[data-own]");
      if (own) own.checked = true;
    }
  });

  body.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("textarea, input:not([type=radio]):not([type=checkbox])");
    if (typing) {
      if (event.key === "Enter" && !event.shiftKey && event.target.matches("article.card textarea")) {
        event.preventDefault();
        event.target.form.requestSubmit();
      }
      return;
    }
    const card = (event.target.closest && event.target.closest("article.card")) || document.querySelector("article.card");
    if (!card || !card.querySelector("form")) return;
    const inside = event.target.closest && event.target.closest("fieldset");
    const open = (one) => !one.querySelector("input:checked");
    const fields = [...card.querySelectorAll("fieldset")];
    const fieldset = inside || fields.find(open) || fields[0];
    if (/^[0-9]$/.test(event.key)) {
      if (event.key === "0") {
        const text = fieldset.querySelector("textarea");
        if (!text) return;
        event.preventDefault();
        text.focus();
        return;
      }
      const choice = fieldset.querySelectorAll("input:not([data-own])")[Number(event.key) - 1];
      if (!choice) return;
      event.preventDefault();
      choice.focus();
      choice.click();
    } else if (event.key === "Enter" && event.target.matches("body, article, input")) {
      event.preventDefault();
      card.querySelector("form").requestSubmit();
    }
  });

  connect();
})();
