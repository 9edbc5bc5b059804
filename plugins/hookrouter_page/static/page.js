// What the page does beyond plain forms: it hears of changes, keeps what is being typed, and takes keys.
"use strict";

(() => {
  const STALE_MS = 40000;
  // The parts of a page that are renewed by themselves.
  const LIVE = ["list", "live"];
  const body = document.body;
  const stale = document.getElementById("stale");
  let heard = Date.now();

  const TOPICS = ["dialogs", "sessions", "history"];
  const REST_MS = 1000;
  const POLL_MS = 2000;
  const resting = new Map();

  // At most once a second for each topic, and never without the last change.
  function changed(topic) {
    if (resting.has(topic)) {
      resting.set(topic, true);
      return;
    }
    resting.set(topic, false);
    body.dispatchEvent(new CustomEvent("hookrouter:" + topic));
    setTimeout(() => {
      const again = resting.get(topic);
      resting.delete(topic);
      if (again) changed(topic);
    }, REST_MS);
  }

  // A login that is over has the whole page say so.
  async function askWhetherLoggedIn() {
    const answer = await fetch(body.dataset.root + "/logins", { method: "HEAD" });
    if (answer.status === 401) window.location.reload();
  }

  function hear(what) {
    if (what === "error") {
      stale.hidden = false;
      return;
    }
    if (what === "refused") {
      askWhetherLoggedIn().catch(() => hear("error"));
      return;
    }
    heard = Date.now();
    stale.hidden = true;
    if (TOPICS.includes(what)) changed(what);
  }

  // One stream for all tabs, where the browser has a worker for all of them.
  function share() {
    const worker = new SharedWorker(body.dataset.root + "/static/live.js");
    worker.port.addEventListener("message", (event) => hear(event.data));
    worker.port.start();
    window.addEventListener("pagehide", () => worker.port.postMessage("gone"));
  }

  // Else one for each tab that is seen.
  function connect() {
    let source = null;
    const open = () => {
      if (source || document.hidden) return;
      source = new EventSource(body.dataset.live);
      for (const what of ["open", "beat", ...TOPICS]) source.addEventListener(what, () => hear(what));
      source.addEventListener("error", () => {
        hear("error");
        if (!source || source.readyState !== EventSource.CLOSED) return;
        hear("refused");
        source = null;
        setTimeout(open, 2000);
      });
    };
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) {
        open();
      } else if (source) {
        source.close();
        source = null;
      }
    });
    open();
  }

  function listen() {
    if (body.dataset.live && window.SharedWorker) share();
    else if (body.dataset.live && window.EventSource) connect();
    // The page of a link has no login, and so no stream.
    else if (body.dataset.poll !== undefined) setInterval(() => document.hidden || changed("dialogs"), POLL_MS);
    // A page that comes back from the browser's memory is as it was when it was left.
    window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
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
    const parsed = read(arriving);
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
      link.href = body.dataset.root + "/waiting/" + card.dataset.key;
      link.textContent = "What came of it";
      notice.append(head, text, kept, link);
      results.append(notice);
    }
  }

  const read = (text) => new DOMParser().parseFromString(text, "text/html");

  // A question that is shown alone: its head is renewed, what is typed stays, and its end is told.
  async function lookAgain() {
    const single = document.getElementById("single");
    const results = document.getElementById("results");
    if (!single || results.childElementCount) return;
    const answer = await fetch(single.dataset.address, { headers: { "HX-Request": "true" } });
    const text = await answer.text();
    // An answer that was given meanwhile has removed it, and says itself what came of it.
    if (!single.isConnected || results.childElementCount || answer.status >= 500) return;
    const parsed = read(text);
    if (answer.ok) {
      for (const part of [".card h2", ".card .facts"]) {
        const [now, then] = [parsed.querySelector(part), single.querySelector(part)];
        if (now && then && now.textContent !== then.textContent) then.replaceWith(now);
      }
    } else if (answer.status === 401) {
      window.location.reload();
    } else {
      keepTyped(single, text);
      results.prepend(...parsed.querySelectorAll(".notice"));
      single.remove();
    }
  }

  body.addEventListener("hookrouter:dialogs", () => lookAgain().catch(() => hear("error")));

  body.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    // What is closed is drawn anew; what is open keeps what was typed into it.
    for (const one of document.querySelectorAll("details[hx-preserve]:not([open])")) one.removeAttribute("id");
    // What was refused says why, and is shown like all else; a login that is over has the whole page say so.
    if (event.detail.xhr.status === 401) {
      window.location.reload();
    } else if (event.detail.xhr.status >= 400 && target && !LIVE.includes(target.id)) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    if (target && target.id === "list") keepTyped(target, event.detail.serverResponse);
  });

  body.addEventListener("htmx:afterSettle", (event) => {
    const target = event.detail.target;
    const wanted = target && target.querySelector && !LIVE.includes(target.id) && target.querySelector("[data-focus]");
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

  listen();
})();
